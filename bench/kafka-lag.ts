import { findKafka } from '../test/services/kafka.ts'
import { FULL_SPEED } from '../test/services/kafka-node.ts'
import { atMost, type BenchResult, machine, row } from './harness/result.ts'
import { killAtLag } from './kafka/lag.ts'
import { Topics } from './kafka/topics.ts'

/** For a quick look: LAZARET_BENCH_MESSAGES=20000 npm run bench kafka-lag. */
const MESSAGES = Number(process.env['LAZARET_BENCH_MESSAGES'] ?? 1_000_000)
/** Other consumers get the partitions of one that was killed when the brokers have missed it for so long. */
const SESSION_MS = 2_000

export async function run(messages = MESSAGES): Promise<BenchResult> {
  const found = await findKafka()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Kafka of its own')
  const server = await found.start({
    jvm: FULL_SPEED,
    config: { 'group.consumer.session.timeout.ms': String(SESSION_MS) },
  })
  const topics = new Topics(server.brokers)
  try {
    const { firstEventMs, loadingMs, earlyMb, lateMb, peakMb } = await killAtLag(topics, messages)
    return {
      bench: 'kafka-lag',
      machine: machine(),
      rows: [
        row(`first event after a kill with ${messages} events of lag`, 'ms', [firstEventMs]),
        row('of that, Node loads the program', 'ms', [loadingMs]),
        row('memory of the consumer in the second tenth of the lag, median', 'MB', [earlyMb]),
        row('memory of the consumer in the last tenth of the lag, median', 'MB', [lateMb]),
        row('memory of the consumer, highest', 'MB', [peakMb]),
      ],
      bars: [
        atMost('first event after a kill, ms', firstEventMs, 5_000),
        atMost('growth of memory over the lag, MB', lateMb - earlyMb, 50),
      ],
    }
  } finally {
    await topics.close()
    await server.close()
  }
}
