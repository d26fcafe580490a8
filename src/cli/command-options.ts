import { type ParseArgsConfig, parseArgs } from 'node:util'

type OptionsConfig = NonNullable<ParseArgsConfig['options']>

/** What was typed does not fit; the message says what does. */
export class UsageRefused extends Error {}

/** Throws `UsageRefused` for whatever the command does not know. */
export function commandOptions<O extends OptionsConfig>(
  args: readonly string[],
  options: O,
  usage: string,
) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // What follows the first sentence explains how to write words that begin with a dash.
    const [sentence] = error.message.split(/\.\s|\.$/)
    throw new UsageRefused(`${sentence}. Usage: ${usage}`, { cause: error })
  }
}
