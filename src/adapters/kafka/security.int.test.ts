import { afterAll, describe, expect, it } from 'vitest'
import { findKafka } from '../../../test/services/kafka.ts'
import { PASSWORD, SecureKafka, STRANGER, USER } from '../../../test/services/kafka-secure.ts'
import { systemRandom } from '../../ports/clock.ts'
import { faultTests } from '../../testing/conformance/broker/faults.ts'
import type { BrokerFault } from '../../testing/conformance/broker/suite.ts'
import { eventOf, Inbox } from '../../testing/conformance/broker/world.ts'
import { TestTiming, uniqueName } from '../../testing/conformance/harness.ts'
import { createFactory } from '../../testing/factories.ts'
import { type KafkaBroker, type KafkaOptions, type KafkaSasl, kafka } from './index.ts'

const found = await findKafka()
const isOurs = found.found && found.isPrivate
const server = isOurs ? await SecureKafka.start(found) : undefined
const why = isOurs ? '' : ` (skipped: ${found.found ? 'the cluster is not ours' : found.why})`
const make = createFactory({ random: systemRandom })
const timing = new TestTiming({})
const brokers: KafkaBroker[] = []
afterAll(async () => {
  await Promise.all(brokers.map(broker => broker.close()))
  await server?.close()
})

const sasl = (more: Partial<KafkaSasl> = {}): KafkaSasl => {
  return { mechanism: 'SCRAM-SHA-512', username: USER, password: PASSWORD, ...more }
}

function open(more: Partial<KafkaOptions> = {}): KafkaBroker {
  const broker = kafka({
    brokers: server!.brokers,
    tls: { ca: server!.ca },
    sasl: sasl(),
    partitions: 1,
    heartbeatMs: 100,
    publishTimeoutMs: 1_000,
    ...more,
  })
  brokers.push(broker)
  return broker
}

async function failureOf(work: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error as Error,
  )
  expect(failure).toBeInstanceOf(Error)
  expect(failure!.message).not.toContain(PASSWORD)
  return failure!
}

const subscribeOnce = (broker: KafkaBroker, channel: string) =>
  broker.subscribe({ channel, handler: 'bill', prefetch: 1, ordering: 'none' }, () => {})

type Right = Parameters<SecureKafka['deny']>

/** A right is taken away while events flow, and given back. */
function withdrawn(
  name: string,
  right: (channel: string, group: string) => Right,
  more: Pick<BrokerFault, 'reports' | 'refusesPublishing'>,
): BrokerFault {
  return {
    name,
    recovery: 'after-undo',
    inject: ({ channel, handler }) => server!.deny(...right(channel, `${channel}.${handler}`)),
    undo: ({ channel, handler }) => server!.allow(...right(channel, `${channel}.${handler}`)),
    ...more,
  }
}

const FAULTS: readonly BrokerFault[] = [
  withdrawn('the right to publish is withdrawn', channel => ['WRITE', 'TOPIC', channel], {
    refusesPublishing: true,
  }),
  withdrawn('the right to read the topic is withdrawn', channel => ['READ', 'TOPIC', channel], {
    reports: 'deliveries',
  }),
  withdrawn('the right to commit is withdrawn', (_, group) => ['READ', 'GROUP', group], {
    reports: 'settlements',
  }),
  withdrawn(
    'the right to write retries is withdrawn',
    (_, group) => ['WRITE', 'TOPIC', `${group}.retry.0s`],
    {
      reports: 'settlements',
    },
  ),
  withdrawn('the right to write letters is withdrawn', (_, group) => ['WRITE', 'TOPIC', `${group}.dlq`], {
    reports: 'letters',
  }),
]

describe.runIf(isOurs)(`Kafka with TLS, logins and ACLs${why}`, () => {
  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)(
    'E21: publishes and consumes with %s over TLS',
    async mechanism => {
      const broker = open({ sasl: sasl({ mechanism }) })
      const channel = uniqueName('secure')
      let received = 0
      await broker.subscribe({ channel, handler: 'bill', prefetch: 1, ordering: 'none' }, () => received++)
      await broker.publish([make.event({ channel })])
      await timing.eventually(() => received === 1, 'the event arrives')
    },
  )

  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)(
    'F7: a wrong password is refused at once with %s, and no error shows a password',
    async mechanism => {
      const wrong = 'another-password-8'
      const failure = await failureOf(
        subscribeOnce(open({ sasl: sasl({ mechanism, password: wrong }) }), 'orders'),
      )
      expect(failure.code).toBe('LAZARET_BROKER_REFUSED')
      expect(failure.message).toContain(server!.brokers[0])
      expect(failure.message).toContain('; check user, password and mechanism of the option `sasl`')
      expect(failure.message).not.toContain(wrong)
    },
  )

  it('F7: a certificate that is not trusted is refused at once, and the error says what to give', async () => {
    const failure = await failureOf(subscribeOnce(open({ tls: {} }), 'orders'))
    expect(failure.code).toBe('LAZARET_BROKER_REFUSED')
    expect(failure.message).toContain('self-signed certificate')
    expect(failure.message).toContain('`tls: { ca }`')
  })

  it.each([
    ['topic', 'DESCRIBE', 'TOPIC', (channel: string) => channel],
    ['new topic', 'CREATE', 'TOPIC', (channel: string) => `${channel}.bill.retry.5s`],
    ['group', 'READ', 'GROUP', (channel: string) => `${channel}.bill`],
  ] as const)(
    'F7: a missing ACL on a %s is refused at once, by its name',
    async (_, operation, kind, nameOf) => {
      const channel = uniqueName('denied')
      const name = nameOf(channel)
      await server!.deny(operation, kind, name)
      const failure = await failureOf(subscribeOnce(open(), channel))
      expect(failure.code).toBe('LAZARET_BROKER_REFUSED')
      expect(failure.message).toContain(`'${name}'`)
      expect(failure.message).toContain('kafka-acls.sh --add')
      await server!.allow(operation, kind, name)
    },
  )

  it('F7: a channel whose topic Kafka cannot tell from another one is refused at once, with both names', async () => {
    const channel = uniqueName('dots')
    await subscribeOnce(open(), `${channel}.eu`)
    const failure = await failureOf(subscribeOnce(open(), `${channel}_eu`))
    expect(failure.code).toBe('LAZARET_BROKER_REFUSED')
    for (const part of [`'${channel}_eu'`, `${channel}.eu`, '; use another name for the channel'])
      expect(failure.message).toContain(part)
  })

  it('F7: a user without rights gets an error that names the topic', async () => {
    const channel = uniqueName('stranger')
    const broker = open({ sasl: sasl({ username: STRANGER }) })
    const failure = await failureOf(broker.publish([make.event({ channel })]))
    expect([failure.code, failure.message]).toEqual([
      'LAZARET_BROKER_REFUSED',
      expect.stringContaining(`'${channel}'`),
    ])
  })

  it('E21: the permissions in the docs are enough to publish, retry, keep a letter and keep the order', async () => {
    const channel = uniqueName('least')
    await server!.grant(['DESCRIBE', 'READ', 'WRITE', 'CREATE'], 'TOPIC', channel)
    await server!.grant(['DESCRIBE', 'READ', 'WRITE', 'CREATE'], 'TOPIC', `${channel}.bill.`, true)
    await server!.grant(['READ'], 'GROUP', `${channel}.bill`)
    const broker = open({ sasl: sasl({ username: STRANGER }) })
    const inbox = new Inbox(timing)
    const options = { channel, handler: 'bill', prefetch: 1, ordering: 'by-key' } as const
    inbox.subscription = await broker.subscribe(options, delivery => inbox.receive(delivery))
    const events = make.events(2, { channel, key: 'a' })
    await broker.publish(events)
    const first = await inbox.assertNextIs(events[0])
    await inbox.begin(first)
    await inbox.retry(first, 0)
    const again = await inbox.assertNextIs(events[0])
    const letter = make.letter({ event: eventOf(again), channel })
    await inbox.subscription.settle(again, { outcome: 'dead', letter, saved: false })
    await broker.unblockKey(channel, events[0]!.id, 'bill')
    await inbox.doneNext(events[1])
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'all is committed')
  })

  faultTests({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    faults: isOurs ? FAULTS : [],
    setup: async () => ({ broker: open({ partitions: 2 }) }),
  })
})
