import type { JetStream } from '../../connection/jetstream.ts'
import type { HandlerNames } from './names.ts'

/** The events of the channel that a handler has not settled. 0 if it has no consumer. */
export async function unsettledEvents(
  jetstream: JetStream,
  { streams, consumer }: HandlerNames,
): Promise<number> {
  const info = await jetstream.consumerInfo(streams.events, consumer)
  if (info === undefined) return 0
  // NATS 2.9 counts some events twice that were given back. Everything up to the floor is settled.
  const last = (await jetstream.streamInfo(streams.events))?.state.last_seq ?? 0
  const most = Math.max(0, last - info.ack_floor.stream_seq)
  return Math.min(info.num_pending + info.num_ack_pending, most)
}

/** The events that come again to a handler, or wait for another one of their key. */
export async function waitingEvents(
  jetstream: JetStream,
  { streams, consumer, stateSubject }: HandlerNames,
): Promise<number> {
  const info = await jetstream.consumerInfo(streams.retries, consumer)
  const retries = info === undefined ? 0 : info.num_pending + info.num_ack_pending
  return retries + (await jetstream.countOf(streams.state, `${stateSubject}.waiting.>`))
}
