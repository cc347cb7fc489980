/**
 * Every error code Lazaret can throw. docs/reference/errors.md carries one heading per code and a test holds the
 * two together. A code is never reused for another meaning and never removed, only retired.
 */
export const ERROR_CODES = {
  LAZARET_OPTIONS_INVALID: 'Options were refused; every fault is listed at once.',
  LAZARET_EVENT_INVALID: 'An event breaks a limit of size or shape.',
  LAZARET_CLOUDEVENT_INVALID: 'A CloudEvent cannot be read as an event.',
  LAZARET_PERMANENT: 'The thrower says that trying again cannot help.',
  LAZARET_TRANSIENT: 'The thrower says that trying again may help.',
  LAZARET_RETRY_AFTER: 'The thrower says when trying again may help.',
  LAZARET_TIMEOUT: 'An attempt did not end within its time.',
  LAZARET_BREAKER_OPEN: 'A circuit breaker refused the attempt.',
  LAZARET_RATE_LIMITED: 'A rate limit refused the call.',
  LAZARET_RETRY_LIMITED: 'The retry limit refused another attempt.',
  LAZARET_TRANSITION_ILLEGAL: 'A dead letter cannot go from its state to the one asked for.',
} as const

export type ErrorCode = keyof typeof ERROR_CODES
