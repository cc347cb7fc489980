import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import { BrokerFullError } from '../../../ports/broker.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import type { RedisStreamsSettings } from '../options.ts'
import { eventsKey, ownKey } from './keys.ts'
import { PUBLISH, PUBLISH_WITHIN } from './scripts/stream.ts'

/** The number of events that one step adds. The server does nothing else during the step. */
const MAX_BATCH_EVENTS = 250
const MAX_BATCH_TEXT = 1_048_576
/** Steps on their way at once. More would only wait, and their time would run out. */
const MAX_BATCHES_UNDER_WAY = 8

/** Events for one stream that are added in one step. */
interface StreamBatch {
  readonly stream: string
  readonly channel: string
  readonly isBounded: boolean
  readonly texts: string[]
  room: number
}

/** Publishes events; those of one stream in the order given. */
export async function publish(
  connection: RedisConnection,
  settings: RedisStreamsSettings,
  events: readonly LazaretEvent[],
): Promise<void> {
  const underWay = new Set<Promise<void>>()
  for (const batch of gather(settings, events)) {
    const adding = add(connection, settings, batch)
    underWay.add(adding)
    adding.then(
      () => underWay.delete(adding),
      () => {},
    )
    if (underWay.size >= MAX_BATCHES_UNDER_WAY) await Promise.race(underWay)
  }
  const ended = await Promise.allSettled(underWay)
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

async function add(
  connection: RedisConnection,
  settings: RedisStreamsSettings,
  batch: StreamBatch,
): Promise<void> {
  const { stream, channel, isBounded, texts } = batch
  const { name, maxLength } = settings
  if (!isBounded || maxLength === undefined) await run(connection, PUBLISH, [stream], texts)
  else {
    const added = await run(connection, PUBLISH_WITHIN, [stream], [String(maxLength), ...texts])
    if (added < texts.length) throw new BrokerFullError(name, channel, maxLength)
  }
}

/** A replay is for the handler that failed: it goes to that one's own stream. */
function* gather(
  { prefix, codec }: RedisStreamsSettings,
  events: readonly LazaretEvent[],
): Generator<StreamBatch> {
  const open = new Map<string, StreamBatch>()
  const streams = new Map<string, string>()
  for (const event of events) {
    const handler = replayOf(event)?.handler
    const { channel } = event
    let stream = handler === undefined ? streams.get(channel) : ownKey(prefix, channel, handler)
    if (stream === undefined) {
      stream = eventsKey(prefix, channel)
      streams.set(channel, stream)
    }
    const text = codec.events.encode(event)
    const begun = open.get(stream)
    if (begun !== undefined && (begun.texts.length >= MAX_BATCH_EVENTS || begun.room < text.length)) {
      open.delete(stream)
      yield begun
    }
    const batch = open.get(stream) ?? {
      stream,
      channel,
      isBounded: handler === undefined,
      texts: [],
      room: MAX_BATCH_TEXT,
    }
    open.set(stream, batch)
    batch.texts.push(text)
    batch.room -= text.length
  }
  yield* open.values()
}
