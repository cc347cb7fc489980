import { connect } from '@nats-io/transport-node'
import { afterAll, expect } from 'vitest'
import type { NatsConnection } from '../../src/adapters/nats/connection/client.ts'
import { type NatsBroker, type NatsOptions, nats } from '../../src/adapters/nats/index.ts'
import type { Delivery, SubscribeOptions, SubscriptionStatus } from '../../src/ports/broker.ts'
import { systemRandom } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findNats, type NatsService, type NatsStart } from '../services/nats.ts'
import { OutsideNats } from './outside-nats.ts'

/** Short, so that tests of lost consumers do not take long. */
export const TIMES = { ackWaitMs: 1_000, leaseMs: 1_000, requestTimeoutMs: 1_000 }

export const make = createFactory({ random: systemRandom })

export const eventually = (read: () => unknown) => expect.poll(read, { timeout: 30_000, interval: 20 })

/** A server for one test file, with brokers that are closed when the file ends. */
export interface NatsWorld {
  /** Undefined if there is no server that a test may stop. */
  readonly service: NatsService | undefined
  readonly outside: OutsideNats
  /** Whether the server is of this release or a newer one, such as `2.11`. */
  isAtLeast(release: string): boolean
  /** Says in the title of a suite why it is skipped. */
  readonly why: string
  open(options?: Partial<NatsOptions>): NatsBroker
  mortal(options?: Partial<NatsOptions>): { readonly broker: NatsBroker; die(): Promise<void> }
}

export async function createNatsWorld(wanted?: NatsStart): Promise<NatsWorld> {
  const found = await findNats()
  const isOurs = found.found && found.isPrivate
  const why = found.found ? ' (skipped: the server is not ours)' : ` (skipped: ${found.why})`
  const service = isOurs ? await found.start(wanted) : undefined
  const outside = new OutsideNats(service?.url ?? 'nats://localhost:4222')
  const version = isOurs ? (await outside.link.get()).info!.version : ''
  const brokers: NatsBroker[] = []
  afterAll(async () => {
    for (const broker of brokers) await broker.close()
    await outside.close()
    await service?.close()
  })
  const open = (options: Partial<NatsOptions> = {}) => {
    const broker = nats({ url: service!.url, ...TIMES, ...options })
    brokers.push(broker)
    return broker
  }
  return {
    service,
    outside,
    isAtLeast: release => numberOf(version) >= numberOf(release),
    why: isOurs ? '' : why,
    open,
    mortal: options => mortal(open, options),
  }
}

/** Major and minor number, as one that can be compared. */
function numberOf(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return 1_000 * major + minor
}

/** A broker whose connection can be cut for good, as the end of its process does it. */
function mortal(open: NatsWorld['open'], options: Partial<NatsOptions> = {}) {
  let connection: NatsConnection | undefined
  const client = {
    async connect(options: object) {
      if (connection !== undefined) throw new Error('it is dead')
      connection = (await connect(options)) as unknown as NatsConnection
      return connection
    },
  }
  return {
    broker: open({ ...options, client, connectTimeoutMs: 1 }),
    die: async () => void (await connection?.close()),
  }
}

export async function subscribe(
  broker: NatsBroker,
  channel: string,
  options: Partial<SubscribeOptions> = {},
) {
  const deliveries: Delivery[] = []
  const statuses: SubscriptionStatus[] = []
  const wanted = { channel, handler: 'bill', prefetch: 10, ordering: 'none', ...options } as const
  const subscription = await broker.subscribe(
    wanted,
    delivery => deliveries.push(delivery),
    status => statuses.push(status),
  )
  const ids = () => deliveries.map(({ content }) => ('id' in content ? content.id : 'undecodable'))
  return { subscription, deliveries, statuses, ids }
}
