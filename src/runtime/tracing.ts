/** Where a job stands in a trace: in somebody's, or in one of its own that is named after it. */
export interface Tracing {
  readonly traceId: string
  readonly spanId: string
}

export interface Traced {
  /** A UUID. */
  readonly id: string
  readonly traceId: string | null
  readonly spanId: string | null
}

export function tracingOf({ id, traceId, spanId }: Traced): Tracing {
  const own = id.replaceAll('-', '')
  return { traceId: traceId ?? own, spanId: spanId ?? own.slice(16) }
}
