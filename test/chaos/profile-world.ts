import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { type QueueStatus, withAdmin } from '../../src/adapters/rabbitmq/admin.ts'
import { type RabbitmqBroker, rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { createEvent } from '../../src/index.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { ProfileProcess, type ProfileSettings } from '../examples/profile-service.ts'
import type { PostgresNode } from '../services/postgres-node.ts'

/** The example on servers that may go away: a channel of its own, who registers users there, and what became of them. */
export class ProfileWorld {
  readonly postgres: PostgresNode
  readonly #settings: ProfileSettings
  readonly #broker: RabbitmqBroker
  #service: ProfileProcess | undefined
  published = 0

  /** `env` is what the example's config is told; without it, its defaults hold. */
  constructor(amqp: string, postgres: PostgresNode, env?: NodeJS.ProcessEnv) {
    this.postgres = postgres
    this.#settings = { amqp, database: postgres.url, channel: uniqueName('users'), more: env }
    this.#broker = rabbitmq({ url: amqp })
  }

  async start(): Promise<void> {
    this.#service = await ProfileProcess.start(this.#settings)
  }

  get service(): ProfileProcess {
    return this.#service!
  }

  async register(users: number): Promise<void> {
    await this.#broker.publish(Array.from({ length: users }, () => registration(this.#settings.channel)))
    this.published += users
  }

  /** Registrations that became rows. */
  async rows(): Promise<number> {
    const client = new Client({ connectionString: this.postgres.url })
    await client.connect()
    try {
      const ours = 'select count(*) from profiles where email like $1'
      return Number((await client.query(ours, [`%@${this.#settings.channel}.example`])).rows[0].count)
    } finally {
      await client.end()
    }
  }

  async hasRows(least: number, limitMs = 60_000): Promise<void> {
    const timing = new TestTiming({ timeoutMs: limitMs })
    await timing.eventually(async () => (await this.rows()) >= least, `${least} rows`)
  }

  async status(): Promise<QueueStatus> {
    return await withAdmin({ url: this.#settings.amqp }, admin => admin.status(this.#settings.channel))
  }

  async close(): Promise<void> {
    this.#service?.signal('SIGKILL')
    await this.#broker.close()
  }
}

function registration(channel: string) {
  const userId = randomUUID()
  const payload = { userId, email: `${userId}@${channel}.example`, displayName: 'somebody', version: 1 }
  return createEvent({ channel, type: 'user.registered', payload })
}
