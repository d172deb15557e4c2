import { expect, it } from 'vitest'

import { errorHint, errorMessage, isNotFound, isRetryable, toApiError } from './errors'

it('takes message, field and hint from the answer', () => {
  const error = toApiError(422, { code: 'invalid', detail: 'cron: bad', field: 'cron', hint: 'Use five fields.' })
  expect(error).toMatchObject({ status: 422, code: 'invalid', field: 'cron', retryable: false })
  expect(errorMessage(error)).toBe('cron: bad')
  expect(errorHint(error)).toBe('Use five fields.')
})

it('names the status of an answer without a message', () => {
  expect(errorMessage(toApiError(500, '<html>'))).toBe('Request failed (HTTP 500)')
  expect(errorMessage(toApiError(502, null))).toBe('Request failed (HTTP 502)')
})

it('does not repeat a hint that the message contains', () =>
  expect(errorHint(toApiError(400, { detail: 'bad. Try it.', hint: 'Try it.' }))).toBeUndefined())

it('explains a network error', () =>
  expect(errorMessage(new TypeError('Failed to fetch'))).toBe("Can't reach the server. Check that it is running."))

it('knows which errors to retry', () => {
  expect(isRetryable(new TypeError('Failed to fetch'))).toBe(true)
  expect(isRetryable(toApiError(503, null))).toBe(true)
  expect(isRetryable(toApiError(409, { retryable: true }))).toBe(true)
  expect(isRetryable(toApiError(500, null))).toBe(false)
  expect(isNotFound(toApiError(404, null))).toBe(true)
})
