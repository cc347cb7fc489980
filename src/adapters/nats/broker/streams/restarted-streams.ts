import {
  type ConsumerInfo,
  ERROR,
  isError,
  type JetStream,
  type StreamInfo,
} from '../../connection/jetstream.ts'
import { fromToken, namesOf, streamsOf } from './names.ts'
import { hasRestartedSinceRecord, isSameConsumer, readProgress, voidProgress } from './progress-record.ts'
import { haveRetriesRestarted } from './retries-record.ts'
import { positionOf } from './stream-position.ts'

/** A consumer that is ahead of its stream, and where the next one begins. */
interface ConsumerAhead {
  readonly consumer: ConsumerInfo
  readonly start: object
}

/** A consumer that was made before its stream began to count from 1 again, as a subscription has noticed. */
export interface OutdatedConsumer {
  readonly stream: string
  readonly consumer: string
  /** When it was made. One that was made again since is another one. */
  readonly created: string
}

const ALL = { deliver_policy: 'all' }

/**
 * A server that is killed can forget how far an empty stream had counted, and begins it again at 1. The consumers of the stream are
 * ahead of it then, and would skip the next events. They are made again, and begin with all that the stream has. With
 * replicas the other servers know the number.
 *
 * The server can also have forgotten the last moments of a consumer. Such a consumer is not ahead, and still takes the next events
 * for those that it has delivered before. Only a subscription that was there before knows that: it names the consumer as `outdated`.
 *
 * `kinds` are the streams to look at.
 */
export async function remakeConsumersAhead(
  jetstream: JetStream,
  channel: string,
  outdated: readonly OutdatedConsumer[] = [],
  kinds: readonly ('events' | 'retries')[] = ['events', 'retries'],
): Promise<void> {
  const { retries } = streamsOf(channel)
  for (const stream of kinds.map(kind => streamsOf(channel)[kind])) {
    if (!canRestart(await jetstream.streamInfo(stream))) continue
    const consumers: ConsumerInfo[] = []
    for (const handler of await jetstream.consumerNames(retries)) {
      const info = await jetstream.consumerInfo(stream, handler)
      if (info !== undefined) consumers.push(info)
    }
    // The stream is asked after its consumers, so that it has at least what they have had.
    const found = await jetstream.streamInfo(stream)
    if (found === undefined) continue
    const ahead: ConsumerAhead[] = []
    for (const consumer of consumers) {
      const isOutdated = outdated.some(
        each =>
          each.stream === stream &&
          each.consumer === consumer.name &&
          isSameConsumer(each.created, consumer.created) &&
          wasMadeAfter(each, found),
      )
      const start = await startIfAhead(jetstream, channel, found, consumer, isOutdated)
      if (start !== undefined) ahead.push({ consumer, start })
    }
    if (ahead.length > 0) await remake(jetstream, channel, found, ahead)
  }
}

/** A consumer that is older than the stream was deleted with an earlier stream of that name. */
function wasMadeAfter(consumer: OutdatedConsumer, stream: StreamInfo): boolean {
  return Date.parse(consumer.created) >= Date.parse(stream.created)
}

/** Whether a consumer has had more than its stream. The stream was asked after it, so that it has at least what it gave. */
export function isPastEnd({ delivered }: ConsumerInfo, found: StreamInfo): boolean {
  return canRestart(found) && delivered.stream_seq > found.state.last_seq
}

function canRestart(found: StreamInfo | undefined): boolean {
  return found?.config['num_replicas'] === 1
}

/** Undefined if the consumer is not ahead. Publishers may have passed it: the records of its handler show that the stream has begun again. */
async function startIfAhead(
  jetstream: JetStream,
  channel: string,
  found: StreamInfo,
  consumer: ConsumerInfo,
  isOutdated: boolean,
): Promise<object | undefined> {
  const { name, created, delivered, ack_floor } = consumer
  const names = namesOf(channel, fromToken(name))
  const position = positionOf(found)
  const { lastSequence, firstStoredAt } = position
  const isAhead = isOutdated || isPastEnd(consumer, found)
  if (found.config.name !== names.streams.events)
    return isAhead || (await haveRetriesRestarted(jetstream, names, found, consumer)) ? ALL : undefined
  if (!isAhead && delivered.stream_seq === 0) return undefined
  const record = await readProgress(jetstream, names)
  if (record?.created !== found.created) return isAhead ? ALL : undefined
  if (!isAhead) {
    // Records of earlier versions do not name their consumer. One that was made again after the record has settled less than it says.
    const isOlder =
      record.consumerCreated === undefined
        ? ack_floor.stream_seq >= record.settledTo
        : isSameConsumer(record.consumerCreated, created)
    return isOlder && hasRestartedSinceRecord(record, position) ? ALL : undefined
  }
  // A stream that has lost its end still has events that the handler has settled.
  const hasLostItsEnd = firstStoredAt !== undefined && firstStoredAt <= (record.lastStoredAt ?? 0)
  if (!hasLostItsEnd) return ALL
  const firstUnsettled = Math.min(ack_floor.stream_seq, lastSequence) + 1
  return { deliver_policy: 'by_start_sequence', opt_start_seq: firstUnsettled }
}

/** An event that no consumer wants is dropped, so that another consumer wants them all in the meantime. */
async function remake(
  jetstream: JetStream,
  channel: string,
  { config: { name: stream, retention } }: StreamInfo,
  ahead: readonly ConsumerAhead[],
): Promise<void> {
  const guard = retention === 'interest' ? await jetstream.createTemporaryConsumer(stream) : undefined
  try {
    for (const { consumer, start } of ahead) {
      const { name, created, config } = consumer
      // Another process was faster, and its consumer may have delivered events by now.
      if ((await jetstream.consumerInfo(stream, name))?.created !== created) continue
      const { opt_start_seq: _, opt_start_time: __, ...kept } = config
      if (stream === streamsOf(channel).events)
        await voidProgress(jetstream, namesOf(channel, fromToken(name)))
      await jetstream.deleteConsumer(stream, name)
      await jetstream.createConsumer(stream, { ...kept, durable_name: name, ...start }).catch(error => {
        // Another process makes it at the same time. By the record it begins with everything too.
        if (!isError(error, ERROR.consumerExists)) throw error
      })
    }
  } finally {
    if (guard !== undefined) await jetstream.deleteConsumer(stream, guard)
  }
}
