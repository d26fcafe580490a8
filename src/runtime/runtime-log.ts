/** What an operator should read of a runtime's events, and how urgently. */
import type { Log } from './host-log.ts'
import type { Runtime } from './runtime.ts'
import type { RuntimeEventMap } from './runtime-events.ts'
import type { Recovery } from './store/job-store.ts'

type EventName = keyof RuntimeEventMap

/** What to write about an event, or undefined where it is not worth a line. */
type LogLine = { readonly level: keyof Log; readonly fields: object } | undefined

/** A duty that goes on failing would fill the log: after the first time every tenth will do. */
const FAILURES_PER_LINE = 10

const lines: { readonly [N in EventName]?: (event: RuntimeEventMap[N]) => LogLine } = {
  'job.settled': ({ error, ...fields }) =>
    fields.as === 'failed' || fields.as === 'dead'
      ? { level: 'warn', fields: { ...fields, error } }
      : undefined,
  'job.logged': ({ traceId, spanId, fields, message, ...about }) => ({
    level: 'info',
    // Theirs are kept apart: a field called `level` must not change the line.
    fields: { ...about, trace_id: traceId, span_id: spanId, text: message, fields },
  }),
  'job.lost': warning,
  'job.deaf': warning,
  'jobs.rescued': (event) => (touched(event.recovered) ? warning(event) : undefined),
  'node.enlisted': (event) => (touched(event.recovered) ? warning(event) : undefined),
  'node.leaseLost': warning,
  'outbox.relayed': (event) => (event.refused > 0 ? warning(event) : undefined),
  'schedule.refused': warning,
  'duty.failed': ({ error, ...fields }) =>
    fields.failures === 1 || fields.failures % FAILURES_PER_LINE === 0
      ? { level: 'error', fields: { ...fields, err: error } }
      : undefined,
  'duty.recovered': (fields) => ({ level: 'info', fields }),
}

/** Writes these events to the log under their own names, until cancelled. */
export function logRuntimeEvents(runtime: Pick<Runtime, 'on'>, log: Log): () => void {
  const cancels = (Object.keys(lines) as EventName[]).map((name) => logEvent(runtime, log, name))
  return () => {
    for (const cancel of cancels) cancel()
  }
}

function logEvent<N extends EventName>(
  runtime: Pick<Runtime, 'on'>,
  log: Log,
  name: N,
): () => void {
  return runtime.on(name, (event) => {
    const line = lines[name]?.(event)
    if (line) log[line.level](line.fields, name)
  })
}

function warning(fields: object): LogLine {
  return { level: 'warn', fields }
}

/** Whether jobs were running when their node ended: the usual case is that none were. */
function touched({ requeued, dead, cancelled }: Recovery): boolean {
  return requeued + dead.length + cancelled > 0
}
