import { isChannelName, MAX_CHANNEL_BYTES } from '../../core/event/channel.ts'
import { HEADER_NAME, MAX_HEADER_NAME_BYTES } from '../../core/event/limits.ts'

const ENDINGS =
  /(?:[._-](?:dlq(?:\.quarantine)?\.(?:transient|schema|business|integration|unknown)|dlq|dlt|dead-?letters?(?:-queue)?|error|errors|skipped|parking-?lot|failed))+$/i

/** The name of a dead-letter queue or topic without the ending that says what it is. */
export function withoutEnding(queue: string): string {
  return queue.replace(ENDINGS, '') || queue
}

/**
 * A channel name for a queue or topic, which may have any name. Characters that a channel cannot have become dashes. The
 * handler keeps the whole name.
 */
export function channelName(queue: string): string {
  if (isChannelName(queue)) return queue
  const name = queue
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/\.{2,}/g, '.')
    .slice(0, MAX_CHANNEL_BYTES)
    .replace(/^[._-]+|[._-]+$/g, '')
  return name === '' ? 'unnamed' : name
}

/**
 * A header name that an event can have. Other characters are escaped as in a URL, so that the original can be restored.
 * Undefined if that is not possible.
 */
export function eventHeaderName(name: string): string | undefined {
  if (name !== '__proto__' && HEADER_NAME.test(name) && name.length <= MAX_HEADER_NAME_BYTES) return name
  if (name === '' || name.includes('\ufffd')) return undefined
  const written =
    name === '__proto__'
      ? '%5F_proto__'
      : encodeURIComponent(name).replace(/[()]/g, each => (each === '(' ? '%28' : '%29'))
  return written.length <= MAX_HEADER_NAME_BYTES && HEADER_NAME.test(written) ? written : undefined
}

/** The part of a header name that a message shows. */
export function shownHeaderName(name: string): string {
  return name.slice(0, MAX_HEADER_NAME_BYTES)
}
