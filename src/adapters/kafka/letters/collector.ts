import { CollectingLoop } from '../../../adapter-kit/collecting/collecting-loop.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { BrokerClosedError, type QueueDepth } from '../../../ports/broker.ts'
import type { Collector, ReplayRoute } from '../../../ports/collector.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import { Cluster } from '../connection/cluster.ts'
import { Producer } from '../connection/producer.ts'
import { explain } from '../connection/protocol-errors.ts'
import { KafkaRefusedError } from '../errors.ts'
import { type KafkaCollectorOptions, type KafkaCollectorSettings, resolveKafkaCollector } from './options.ts'
import { faultOfReturn, returnedRecord } from './returned-record.ts'
import { TopicCollecting } from './topic-collecting.ts'

/** How soon the collector looks again when there is no topic. */
const NO_TOPIC_MS = 1_000

/** Collects the dead-letter topics of a Kafka cluster. Nothing is connected until it is started or sends. */
export function kafkaCollector(options: KafkaCollectorOptions): Collector {
  return new KafkaCollector(resolveKafkaCollector(options))
}

class KafkaCollector implements Collector {
  readonly name: string
  readonly #settings: KafkaCollectorSettings
  readonly #cluster: Cluster
  readonly #producer: Producer
  readonly #loop: CollectingLoop<TopicCollecting>
  #closing: Promise<void> | undefined

  constructor(settings: KafkaCollectorSettings) {
    const { connection, handledAfterMs, onError } = settings
    this.name = connection.name
    this.#settings = settings
    this.#cluster = new Cluster(connection)
    // The topics belong to others, so that none is created.
    this.#producer = new Producer(this.#cluster, connection, async () => false)
    this.#loop = new CollectingLoop({
      name: this.name,
      clock: connection.clock,
      handledAfterMs,
      onError,
      open: () => new TopicCollecting(settings, this.#cluster),
      // A reading waits for records by itself.
      restMs: ({ hasTopics }) => (hasTopics ? 0 : NO_TOPIC_MS),
      explain: error => {
        const problem = explain(this.#cluster.servers, 'collecting', error)
        return { problem, isNewsAtOnce: problem instanceof KafkaRefusedError }
      },
    })
  }

  start(into: DeadLetterStore): void {
    this.#requireOpen()
    this.#loop.start(into)
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async send(events: readonly LazaretEvent[], origin: Origin): Promise<void> {
    this.#requireOpen()
    await this.#producer.send(events.map(event => returnedRecord(event, origin, this.#settings.connection)))
  }

  /** A record that could not be sent back as it was is not sent back at all; to another channel it may go. */
  routeOf({ origin }: Pick<DeadLetter, 'origin'>, to: string | undefined): ReplayRoute {
    const fault = to === undefined ? faultOfReturn({ origin }) : undefined
    return fault === undefined ? { kind: 'durable', via: this.name } : { kind: 'none', reason: fault }
  }

  async depths(): Promise<readonly QueueDepth[]> {
    this.#requireOpen()
    const collecting = new TopicCollecting(this.#settings, this.#cluster)
    return await this.#cluster.retrying('counting dead letters', () => collecting.depths())
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#loop.stop()
    this.#producer.close()
    await this.#cluster.close()
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
  }
}
