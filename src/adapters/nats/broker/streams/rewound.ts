import type { ConsumerInfo, JetStream, StreamInfo } from '../../connection/jetstream.ts'
import { streamsOf } from './names.ts'

/**
 * A server that is killed can forget how far an empty stream had counted, and begins again at 1. Its consumers are ahead of the
 * stream then, and would skip the next events. They are made again, and begin with all that the stream has. With replicas
 * the other servers know the number, and a stream with limits is not empty.
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
    const ahead = consumers.filter(({ delivered }) => delivered.stream_seq > found.state.last_seq)
    if (ahead.length > 0) await remake(jetstream, stream, found.config.retention === 'interest', ahead)
  }
}

function canRestart(found: StreamInfo | undefined): boolean {
  return found !== undefined && found.config.retention !== 'limits' && found.config['num_replicas'] === 1
}

/** An event that no consumer wants is dropped, so that another consumer wants them all in the meantime. */
async function remake(
  jetstream: JetStream,
  stream: string,
  dropsUnwanted: boolean,
  consumers: readonly ConsumerInfo[],
): Promise<void> {
  const guard = dropsUnwanted ? await jetstream.createTemporaryConsumer(stream) : undefined
  for (const { name, config } of consumers) {
    const { opt_start_seq: _, opt_start_time: __, ...kept } = config
    await jetstream.deleteConsumer(stream, name)
    await jetstream.createConsumer(stream, { ...kept, durable_name: name, deliver_policy: 'all' })
  }
  if (guard !== undefined) await jetstream.deleteConsumer(stream, guard)
}
