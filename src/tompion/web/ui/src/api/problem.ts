/** What the service says is wrong, in its own words. */
export class Problem extends Error {
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
export function asProblem(status: number, body: unknown): Problem {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const text = (name: string) => (typeof said[name] === 'string' ? (said[name] as string) : undefined)
  return new Problem(
    status,
    text('code') ?? 'unknown',
    text('detail') ?? `the service answered with ${status}`,
    text('field'),
    text('hint'),
    said.retryable === true,
  )
}

export function isWorthAnotherTry(error: unknown): boolean {
  return !(error instanceof Problem) || error.retryable || error.status >= 502
}

export const UNREACHABLE = 'The service cannot be reached. Is it running?'
const NO_ANSWER = /fetch|network|load failed/i

export function messageOf(error: unknown): string {
  if (error instanceof Problem) return error.message
  if (error instanceof TypeError && NO_ANSWER.test(error.message)) return UNREACHABLE
  return error instanceof Error ? error.message : String(error)
}

/** What to do about it, if the message does not say so itself. */
export function hintOf(error: unknown): string | undefined {
  return error instanceof Problem && error.hint && !error.message.includes(error.hint) ? error.hint : undefined
}

/** What was asked for is not there: asking again does not help. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Problem && error.status === 404
}
