import { Buffer } from 'node:buffer'
import type { LazaretEvent } from '../src/core/event/event.ts'
import { REPLAY_HEADERS } from '../src/core/event/replay-headers.ts'
import type { Undecodable } from '../src/ports/broker.ts'

/** Events of a world are called e1, e2 …, and so are the messages that are not events. */
export type EventName = string

export function nameOf(content: LazaretEvent | Undecodable): EventName {
  if ('raw' in content) return Buffer.from(content.raw).toString()
  // The placeholder of a message that is not an event carries the message.
  return content.payload instanceof Uint8Array ? Buffer.from(content.payload).toString() : content.id
}

/**
 * The replay rule, written a second time so that the checkers do not share a bug with the code under test: an event is
 * a replay only if its headers name its own id.
 */
export function replayOf(content: LazaretEvent | Undecodable): number {
  return Number(ownHeader(content, REPLAY_HEADERS.replayAttempt) ?? 0)
}

export function replayIdOf(content: LazaretEvent | Undecodable): string | undefined {
  return ownHeader(content, REPLAY_HEADERS.replayId)
}

function ownHeader(content: LazaretEvent | Undecodable, name: string): string | undefined {
  if ('raw' in content || content.headers[REPLAY_HEADERS.originalId] !== content.id) return undefined
  return content.headers[name]
}
