import { sentenceText } from '../lib/format'
import { t } from '../messages'
/** An error answer of the API, with the message of the server. */
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

/** Convert the body of an error answer, whatever it holds. */
export function toApiError(status: number, body: unknown): ApiError {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const stringField = (name: string) => (typeof fields[name] === 'string' ? (fields[name] as string) : undefined)
  return new ApiError(
    status,
    stringField('code') ?? 'unknown',
    stringField('detail') ?? t('error.http', { status: String(status) }),
    stringField('field'),
    stringField('hint'),
    fields.retryable === true,
  )
}

export function isRetryable(error: unknown): boolean {
  return !(error instanceof ApiError) || error.retryable || error.status >= 502
}

const NETWORK_ERROR = /fetch|network|load failed/i

export function errorMessage(error: unknown): string {
  if (error instanceof ApiError) return sentenceText(error.message)
  if (error instanceof TypeError && NETWORK_ERROR.test(error.message)) return t('error.unreachable')
  return error instanceof Error ? error.message : String(error)
}

/** Return the hint of an error, unless the message contains it already. */
export function errorHint(error: unknown): string | undefined {
  return error instanceof ApiError && error.hint && !error.message.includes(error.hint)
    ? sentenceText(error.hint)
    : undefined
}

/** Return whether the resource does not exist, so that a retry is useless. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}
