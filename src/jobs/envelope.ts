/** A job as it travels: everything a worker needs, with no memory shared with who made it. */
export interface Envelope {
  readonly header: {
    readonly job_id: string
    readonly type: string
    readonly version: string
    readonly created_at: string
    readonly attempt: number
    readonly max_attempts: number
  }
  /** References, not data: at most 64 KB. */
  readonly body: unknown
  readonly tracing: { readonly trace_id: string; readonly span_id: string }
}
