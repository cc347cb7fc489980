import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { readPermanentKey } from '../consume/entry.ts'
import { canHaveHad, type StreamPosition } from '../streams/stream-position.ts'

/**
 * The number that is added to the sequence of an event, to get its place in the line of its key. It is 0 until a stream counts from
 * 1 again, or is made again, while events of it are held: new events must not pass those.
 */
export function placeOffset(
  held: readonly Pick<LineEvent<unknown>, 'heldKey' | 'place'>[],
  position: StreamPosition,
): number {
  let offset = 0
  for (const { heldKey, place } of held) {
    const message = readPermanentKey(heldKey)
    if (message?.source !== 'events') continue
    const isOfThisStream = canHaveHad(position, message) && message.storedAt >= position.createdAt
    offset = Math.max(offset, isOfThisStream ? place - message.sequence : place)
  }
  const highest = held.reduce((most, { place }) => Math.max(most, place), 0)
  // A replay that is held stands behind everything that had come before it. Its own sequence says nothing about that.
  return highest > offset + position.lastSequence ? highest : offset
}
