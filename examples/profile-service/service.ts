import {
  type Consumer,
  createConsumer,
  type HealthReport,
  healthReport,
  type QueueDepth,
  resilient,
} from 'lazaret'
import { type RabbitmqBroker, rabbitmq } from 'lazaret/rabbitmq'
import type { Config } from './config.ts'
import { handle } from './events.ts'
import { log } from './log.ts'
import { Metrics } from './metrics.ts'
import { Profiles } from './profiles.ts'

/** The parts, put together: events from RabbitMQ, through the policies of the config, into Postgres. */
export class ProfileService {
  readonly metrics = new Metrics()
  readonly #config: Config
  readonly #broker: RabbitmqBroker
  readonly #profiles: Profiles
  readonly #consumer: Consumer
  readonly #letterDepths: () => Promise<readonly QueueDepth[]>
  /** As they were counted last. */
  #letters = 0

  constructor(config: Config) {
    const { database, rabbitmq: broker, channel } = config.service
    const policies = config.consumer(channel)
    const profiles = new Profiles(database.url, policies.concurrency ?? 10)
    this.#config = config
    this.#profiles = profiles
    this.#broker = rabbitmq({
      ...broker,
      name: 'profile-service',
      onConnection: news =>
        log(`rabbitmq ${news.state}`, 'error' in news ? { error: news.error.message } : {}),
    })
    this.#consumer = createConsumer({
      ...policies,
      broker: this.#broker,
      observer: {
        ...this.metrics.observer,
        attemptFailed: ({ attempt, failure }) =>
          log('attempt failed', { attempt, error: failure.message, category: failure.category }),
        gaveUp: ({ attempts, reason }) => log('gave up', { attempts, reason }),
        consumerPaused: ({ reason }) => log('paused', { reason }),
        consumerResumed: () => log('resumed', {}),
      },
      handle: event => handle(event, profiles),
    })
    this.#letterDepths = resilient(() => this.#consumer.deadLetterDepths(), config.call('dead-letter-depths'))
  }

  async start(): Promise<void> {
    await this.#profiles.createTables()
    await this.#consumer.start()
  }

  /** UP, DEGRADED with too many dead letters or while they cannot be counted, DOWN while the breaker is open. */
  async health(): Promise<HealthReport> {
    const depths = await this.#letterDepths().catch(() => undefined)
    this.#letters = depths?.reduce((sum, { depth }) => sum + depth, 0) ?? this.#letters
    const report = healthReport(
      [this.#consumer.health()],
      this.#letters,
      this.#config.service.http.degradedAt,
    )
    this.#show(report)
    return depths === undefined && report.status === 'UP' ? { ...report, status: 'DEGRADED' } : report
  }

  /** Stops consuming, lets attempts finish, returns the rest to RabbitMQ, and only then closes the database. */
  async close(): Promise<void> {
    await this.#consumer.close()
    await this.#broker.close()
    await this.#profiles.close()
  }

  #show({ dlqSize, breakerState }: HealthReport): void {
    const { channel } = this.#config.service
    this.metrics.gauge('dlq_size', { channel }, dlqSize)
    this.metrics.gauge('breaker_state', { name: channel }, { CLOSED: 0, HALF_OPEN: 1, OPEN: 2 }[breakerState])
  }
}
