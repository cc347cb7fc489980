import { hash128 } from '../../../core/hash.ts'

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

/**
 * Sentry's ids have 32 hex digits. That of an event is made of its own, so an event that is sent twice has the same
 * id both times, and Sentry keeps one.
 */
export function sentryId(eventId: string): string {
  return UUID.test(eventId) ? eventId.replaceAll('-', '').toLowerCase() : hash128(eventId)
}
