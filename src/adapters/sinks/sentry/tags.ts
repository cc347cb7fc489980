import type { LazaretEvent } from '../../../core/event/event.ts'

/** Limits of Sentry; what is beyond them it drops by itself, or with it the tag. */
const MOST_TAGS = 50
const LONGEST_NAME = 200
const LONGEST_VALUE = 200
const NOT_IN_A_NAME = /[^a-zA-Z0-9_.:-]/g

/** Type and channel, and what the service adds, cut to what Sentry takes. */
export function tagsOf(
  event: LazaretEvent,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const tags = { ...own, 'event.type': event.type, 'event.channel': event.channel }
  const entries = Object.entries(tags).filter(([, value]) => typeof value === 'string' && value !== '')
  return Object.fromEntries(
    entries
      .slice(-MOST_TAGS)
      .map(([name, value]) => [
        name.replace(NOT_IN_A_NAME, '_').slice(0, LONGEST_NAME),
        value.replace(/\s+/g, ' ').slice(0, LONGEST_VALUE).toWellFormed(),
      ]),
  )
}
