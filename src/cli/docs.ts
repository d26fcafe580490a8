/**
 * `npm run docs` proves every machine and writes its page, its drawing and the report. A machine
 * that is not proved gets no page: what is wrong with it is printed instead.
 */
import { join } from 'node:path'
import { writeDocuments } from '../drawing/document-files.ts'
import { documentsOf } from '../drawing/documents.ts'
import { proveAll } from '../proof/catalogue.ts'

const proofs = proveAll()
const problems = proofs.flatMap(({ machine, problems }) =>
  problems.map((problem) => `${machine.id}: ${problem}`),
)

if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
} else {
  const documents = await documentsOf(proofs)
  await writeDocuments(join(import.meta.dirname, '..', '..'), documents)
  console.log(documents.get('docs/machines/README.md'))
}
