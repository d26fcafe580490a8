/**
 * `npm run docs` proves every machine and writes its page, its drawing and the report.
 * With `--check` it writes nothing and fails when a file is not what it would write.
 */
import { join } from 'node:path'
import { driftOf, writeDocuments } from '../drawing/document-files.ts'
import { documentsOf } from '../drawing/documents.ts'
import { proveAll } from '../proof/catalogue.ts'

const root = join(import.meta.dirname, '..', '..')
const documents = await documentsOf(await proveAll())

if (process.argv.includes('--check')) {
  const drift = await driftOf(root, documents)
  if (drift.length > 0) {
    console.error(`${drift.join('\n')}\nRun \`npm run docs\` and commit the result.`)
    process.exitCode = 1
  }
} else {
  await writeDocuments(root, documents)
  console.log([...documents.keys()].join('\n'))
}
