import { NotCollectedError } from '../../../adapter-kit/collecting/errors.ts'
import { LetterSaver } from '../../../adapter-kit/collecting/letter-saver.ts'
import { resolveNotReturned } from '../../../adapter-kit/collecting/not-returned.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { BrokerClosedError, type QueueDepth } from '../../../ports/broker.ts'
import { monotonicNow, settlesWithin } from '../../../ports/clock.ts'
import type { Collector, ReplayRoute } from '../../../ports/collector.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import { Cluster } from '../connection/cluster.ts'
import { Producer } from '../connection/producer.ts'
import { explain } from '../connection/protocol-errors.ts'
import { KafkaRefusedError } from '../errors.ts'
import { type KafkaCollectorOptions, type KafkaCollectorSettings, resolveKafkaCollector } from './options.ts'
import { faultOfReturn, returnedRecord } from './returned-record.ts'
import { TopicCollecting } from './topic-collecting.ts'

const CLOSE_MS = 5_000
const FIRST_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 15_000
const OUTCOME_POLL_MS = 1_000
const REPORT_AFTER_MS = 3_000
/** How soon the collector looks again when there is no topic. */
const NO_TOPIC_MS = 1_000

/** Collects the dead-letter topics of a Kafka cluster. Nothing is connected until it is started or sends. */
export function kafkaCollector(options: KafkaCollectorOptions): Collector {
  return new KafkaCollector(resolveKafkaCollector(options))
}

/** The work between a start and the next stop. */
class Run {
  isOver = false
  /** Ends a rest early. */
  wake: () => void = () => {}
  ended: Promise<void> = Promise.resolve()

  stop(): void {
    this.isOver = true
    this.wake()
  }
}

class KafkaCollector implements Collector {
  readonly name: string
  readonly #settings: KafkaCollectorSettings
  readonly #cluster: Cluster
  readonly #producer: Producer
  #run: Run | undefined
  #closing: Promise<void> | undefined
  /** The time of the first failure in a row; undefined while collecting works. */
  #failingSince: number | undefined
  /** The current problem is reported once for as long as it lasts. */
  #isReported = false

  constructor(settings: KafkaCollectorSettings) {
    this.name = settings.connection.name
    this.#settings = settings
    this.#cluster = new Cluster(settings.connection)
    // The topics belong to others, so that none is created.
    this.#producer = new Producer(this.#cluster, settings.connection, async () => false)
  }

  start(into: DeadLetterStore): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
    if (this.#run !== undefined) return
    const run = new Run()
    this.#run = run
    run.ended = this.#collect(run, into)
  }

  async stop(): Promise<void> {
    const run = this.#run
    if (run === undefined) return
    this.#run = undefined
    run.stop()
    await settlesWithin(this.#settings.connection.clock, CLOSE_MS, run.ended)
  }

  async send(events: readonly LazaretEvent[], origin: Origin): Promise<void> {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
    await this.#producer.send(events.map(event => returnedRecord(event, origin, this.#settings.connection)))
  }

  /** A record that could not be sent back as it was is not sent back at all; to another channel it may go. */
  routeOf({ origin }: Pick<DeadLetter, 'origin'>, to: string | undefined): ReplayRoute {
    const fault = to === undefined ? faultOfReturn({ origin }) : undefined
    return fault === undefined ? { kind: 'durable', via: this.name } : { kind: 'none', reason: fault }
  }

  async depths(): Promise<readonly QueueDepth[]> {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
    const collecting = new TopicCollecting(this.#settings, this.#cluster)
    return await this.#cluster.retrying('counting dead letters', () => collecting.depths())
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.stop()
    this.#producer.close()
    await this.#cluster.close()
  }

  async #collect(run: Run, store: DeadLetterStore): Promise<void> {
    const { clock } = this.#settings.connection
    const saver = new LetterSaver({ name: this.name, clock, onError: this.#settings.onError }, store)
    let restMs = FIRST_BACKOFF_MS
    let collecting = new TopicCollecting(this.#settings, this.#cluster)
    let outcomesAt = 0
    while (!run.isOver) {
      const beganAt = clock.now()
      try {
        await collecting.collectOnce(saver, () => !run.isOver)
        if (collecting.isCaughtUp && (beganAt >= outcomesAt + OUTCOME_POLL_MS || beganAt < outcomesAt)) {
          outcomesAt = beganAt
          await this.#resolveOutcomes(store, beganAt)
        }
        restMs = FIRST_BACKOFF_MS
        this.#failingSince = undefined
        this.#isReported = false
        if (!collecting.hasTopics) await this.#rest(run, NO_TOPIC_MS)
      } catch (error) {
        this.#tell(run, error)
        await this.#rest(run, restMs)
        restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)
        // The committed offsets are the only ones that are certain now.
        collecting = new TopicCollecting(this.#settings, this.#cluster)
      }
    }
  }

  async #resolveOutcomes(store: DeadLetterStore, seenUpTo: number): Promise<void> {
    const { handledAfterMs, connection } = this.#settings
    await resolveNotReturned(store, {
      broker: this.name,
      handledAfterMs,
      seenUpTo,
      clock: connection.clock,
    })
  }

  /** A change of a leader or coordinator takes a moment, so only a longer problem is reported. */
  #tell(run: Run, error: unknown): void {
    const now = monotonicNow(this.#settings.connection.clock)
    this.#failingSince ??= now
    const problem = explain(this.#cluster.servers, 'collecting', error)
    const isNews = problem instanceof KafkaRefusedError || now - this.#failingSince >= REPORT_AFTER_MS
    if (this.#isReported || run.isOver || !isNews) return
    this.#isReported = true
    this.#settings.onError(new NotCollectedError(`collector '${this.name}'`, problem))
  }

  async #rest(run: Run, ms: number): Promise<void> {
    if (run.isOver) return
    await new Promise<void>(resolve => {
      const cancel = this.#settings.connection.clock.schedule(ms, resolve)
      run.wake = () => {
        cancel()
        resolve()
      }
    })
  }
}
