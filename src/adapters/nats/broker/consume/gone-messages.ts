import type { JetStream } from '../../connection/jetstream.ts'
import { canHaveHad, type StreamPosition } from '../streams/stream-position.ts'
import type { MessageId } from './acknowledgements.ts'

/** The messages, of those that were received, that a stream does not have any more although nobody has removed them. */
export async function findGone(
  jetstream: JetStream,
  stream: string,
  position: StreamPosition,
  received: readonly MessageId[],
): Promise<readonly MessageId[]> {
  const gone = received.filter(message => !canHaveHad(position, message))
  const [sample] = gone
  if (sample === undefined || sample.sequence > position.lastSequence) return gone
  // If the message is still there, the clock of the server was set back, and later messages look older than the first.
  const stored = await jetstream.message(stream, { seq: sample.sequence })
  return stored?.storedAt === sample.storedAt ? [] : gone
}
