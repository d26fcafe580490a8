/**
 * `npm start`. What Node makes of the source is kept beside the packages, because reading TypeScript
 * anew takes two thirds of a start; so nothing may be imported before the cache is there.
 */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'decorum'))
const { serve } = await import('./serve-command.ts')

// Ends here even if something still keeps the event loop busy: the life of the process is over.
process.exit(await serve(process.argv.slice(2)))
