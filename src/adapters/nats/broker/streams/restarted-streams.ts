import {
  type ConsumerInfo,
  ERROR,
  isError,
  type JetStream,
  type StreamInfo,
} from '../../connection/jetstream.ts'
import { fromToken, namesOf, streamsOf } from './names.ts'
import { deleteProgress, hasRestartedSince, readProgress } from './progress-record.ts'
import { positionOf } from './stream-position.ts'

/**
 * A server that is killed can forget how far an empty stream had counted, and begins it again at 1. The consumers of the stream are
 * ahead of it then, and would skip the next events. They are made again, and begin with all that the stream has. With
 * replicas the other servers know the number, and a stream with limits is rarely empty.
 */
export async function remakeConsumersAhead(jetstream: JetStream, channel: string): Promise<void> {
  const { events, retries } = streamsOf(channel)
  for (const stream of [events, retries]) {
    if (!canRestart(await jetstream.streamInfo(stream))) continue
    const consumers: ConsumerInfo[] = []
    for (const handler of await jetstream.consumerNames(retries)) {
      const info = await jetstream.consumerInfo(stream, handler)
      if (info !== undefined) consumers.push(info)
    }
    // The stream is asked after its consumers, so that it has at least what they have had.
    const found = await jetstream.streamInfo(stream)
    if (found === undefined) continue
    const ahead: ConsumerInfo[] = []
    for (const consumer of consumers)
      if (await isAhead(jetstream, channel, found, consumer)) ahead.push(consumer)
    if (ahead.length > 0) await remake(jetstream, channel, found, ahead)
  }
}

function canRestart(found: StreamInfo | undefined): boolean {
  return found !== undefined && found.config.retention !== 'limits' && found.config['num_replicas'] === 1
}

/** Publishers may have passed the consumer already. Then the record of its handler shows that the stream has begun again. */
async function isAhead(
  jetstream: JetStream,
  channel: string,
  found: StreamInfo,
  { name, delivered, ack_floor }: ConsumerInfo,
): Promise<boolean> {
  if (delivered.stream_seq > found.state.last_seq) return true
  if (found.config.name !== streamsOf(channel).events || ack_floor.stream_seq === 0) return false
  const record = await readProgress(jetstream, namesOf(channel, fromToken(name)))
  // A consumer that was made again after the record has settled less than the record says.
  if (record === undefined || ack_floor.stream_seq < record.settledTo) return false
  return record.created === found.created && hasRestartedSince(record, positionOf(found))
}

/** An event that no consumer wants is dropped, so that another consumer wants them all in the meantime. */
async function remake(
  jetstream: JetStream,
  channel: string,
  { config: { name: stream, retention } }: StreamInfo,
  consumers: readonly ConsumerInfo[],
): Promise<void> {
  const guard = retention === 'interest' ? await jetstream.createTemporaryConsumer(stream) : undefined
  try {
    for (const { name, created, config } of consumers) {
      // Another process was faster, and its consumer may have delivered events by now.
      if ((await jetstream.consumerInfo(stream, name))?.created !== created) continue
      const { opt_start_seq: _, opt_start_time: __, ...kept } = config
      if (stream === streamsOf(channel).events)
        await deleteProgress(jetstream, namesOf(channel, fromToken(name)))
      await jetstream.deleteConsumer(stream, name)
      const consumer = { ...kept, durable_name: name, deliver_policy: 'all' }
      await jetstream.createConsumer(stream, consumer).catch(error => {
        // Another process makes it at the same time. The record is deleted, so that it begins with everything too.
        if (!isError(error, ERROR.consumerExists)) throw error
      })
    }
  } finally {
    if (guard !== undefined) await jetstream.deleteConsumer(stream, guard)
  }
}
