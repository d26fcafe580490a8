/**
 * The job types of a process: the built-in ones and those of a jobs file. Node reads the file as it
 * is, TypeScript included. Whatever is wrong with it is said before anything has been opened.
 */
import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyJob } from '../jobs/define-job.ts'
import { httpRequest } from '../jobs/http-request/http-request.ts'
import { JobTypes, JobTypesRefused } from './job-types.ts'

export const builtInJobs: readonly AnyJob[] = [httpRequest]

/** The message names the file and says what to do about it. */
export class JobsFileRefused extends Error {}

/** `path` is relative to the current directory. Rejects with `JobsFileRefused`. */
export async function loadJobs(path: string | undefined): Promise<JobTypes> {
  if (path === undefined) return new JobTypes(builtInJobs)
  const definitions = await definitionsIn(path)
  try {
    return new JobTypes([...builtInJobs, ...definitions])
  } catch (error) {
    if (!(error instanceof JobTypesRefused)) throw error
    throw refused(path, error.message, error)
  }
}

async function definitionsIn(path: string): Promise<readonly unknown[]> {
  const file = resolve(path)
  try {
    await access(file)
  } catch (cause) {
    throw refused(path, `there is no file ${file} that can be read: correct the path.`, cause)
  }
  const { default: definitions } = await imported(path, file)
  if (definitions === undefined)
    throw refused(path, 'it has no default export: write "export default [myJob]".')
  if (!Array.isArray(definitions))
    throw refused(path, 'its default export is not an array: write "export default [myJob]".')
  return definitions
}

async function imported(path: string, file: string): Promise<{ readonly default?: unknown }> {
  try {
    return await import(pathToFileURL(file).href)
  } catch (cause) {
    throw refused(path, `it cannot be read: ${wordsFor(cause)}`, cause)
  }
}

function refused(path: string, why: string, cause?: unknown): JobsFileRefused {
  return new JobsFileRefused(`The jobs file ${path} cannot be used: ${why}`, { cause })
}

/** A mistake in TypeScript is pointed at: Node puts the place before the stack, and nowhere else. */
function wordsFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { name, message, stack = '' } = error
  const [, place] = /^(.+:\d+)\r?\n/.exec(stack) ?? []
  return `${name}: ${message}${place === undefined ? '' : ` (${place})`}`
}
