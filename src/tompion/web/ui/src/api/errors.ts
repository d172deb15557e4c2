/** What the service says is wrong, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly field?: string,
    readonly hint?: string,
    readonly retryable = false,
  ) {
    super(detail)
  }
}

/** Make a problem of whatever an answer held. */
export function toApiError(status: number, body: unknown): ApiError {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const stringField = (name: string) => (typeof fields[name] === 'string' ? (fields[name] as string) : undefined)
  return new ApiError(
    status,
    stringField('code') ?? 'unknown',
    stringField('detail') ?? `the service answered with ${status}`,
    stringField('field'),
    stringField('hint'),
    fields.retryable === true,
  )
}

export function isRetryable(error: unknown): boolean {
  return !(error instanceof ApiError) || error.retryable || error.status >= 502
}

export const UNREACHABLE = 'The service cannot be reached. Is it running?'
const NETWORK_ERROR = /fetch|network|load failed/i

export function errorMessage(error: unknown): string {
  if (error instanceof ApiError) return error.message
  if (error instanceof TypeError && NETWORK_ERROR.test(error.message)) return UNREACHABLE
  return error instanceof Error ? error.message : String(error)
}

/** What to do about it, if the message does not say so itself. */
export function errorHint(error: unknown): string | undefined {
  return error instanceof ApiError && error.hint && !error.message.includes(error.hint) ? error.hint : undefined
}

/** What was asked for is not there: asking again does not help. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}
