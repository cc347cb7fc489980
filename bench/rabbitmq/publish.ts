import { connect } from 'amqplib'
import { Connection } from 'rabbitmq-client'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { createEvent } from '../../src/core/event/event.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { BODY } from '../harness/body.ts'
import { perSecond } from '../harness/load.ts'
import type { Candidate } from './consume.ts'
import type { Bench, QueueType } from './queue.ts'
import { openRascal } from './rascal.ts'

export interface PublishRound {
  readonly bench: Bench
  readonly type: QueueType
  readonly messages: number
}

/** Concurrent calls, each waiting for the confirmation of the server. */
const IN_FLIGHT = 500
const PROPERTIES = { contentType: 'application/json', type: 'order.placed' }

function publishing(messages: number, send: (number: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const writer = async () => {
    while (next < messages) await send(next++)
  }
  return perSecond(messages, () => Promise.all(Array.from({ length: IN_FLIGHT }, writer)))
}

async function declared({ bench, type }: PublishRound, name: string): Promise<string> {
  const queue = bench.newName(name)
  await bench.declare(queue, type)
  return queue
}

const raw: Candidate<PublishRound> = async round => {
  const queue = await declared(round, 'raw')
  const connection = await connect(round.bench.url)
  const channel = await connection.createConfirmChannel()
  const rate = await publishing(
    round.messages,
    number =>
      new Promise<void>((resolve, reject) =>
        channel.publish(
          '',
          queue,
          BODY,
          { ...PROPERTIES, persistent: true, messageId: `${queue}-${number}` },
          (error: unknown) => (error ? reject(error) : resolve()),
        ),
      ),
  )
  await connection.close()
  await round.bench.remove(queue)
  return rate
}

/** Events are created beforehand, as are the bodies of the other candidates. Encoding is part of publishing. */
const ours: Candidate<PublishRound> = async ({ bench, type, messages }) => {
  const channel = bench.newName('ours')
  const broker = rabbitmq({ url: bench.url, queueType: type })
  const newId = createIdSource(systemRandom)
  const payload = JSON.parse(BODY.toString())
  const make = () =>
    createEvent({ type: 'order.placed', channel, payload }, { now: systemClock.now(), newId })
  await broker.publish([make()])
  const events = Array.from({ length: messages }, make)
  const rate = await publishing(messages, number => broker.publish([events[number]!]))
  await broker.close()
  await bench.remove(channel, `${channel}.dlq`, `${channel}.suspects`)
  return rate
}

const client: Candidate<PublishRound> = async round => {
  const queue = await declared(round, 'client')
  const connection = new Connection(round.bench.url)
  const publisher = connection.createPublisher({ confirm: true })
  const rate = await publishing(round.messages, number =>
    publisher.send(
      { ...PROPERTIES, routingKey: queue, durable: true, messageId: `${queue}-${number}` },
      BODY,
    ),
  )
  await publisher.close()
  await connection.close()
  await round.bench.remove(queue)
  return rate
}

const rascal: Candidate<PublishRound> = async round => {
  const queue = await declared(round, 'rascal')
  const broker = await openRascal(round.bench.url, {
    queues: { [queue]: { assert: false, check: true } },
    publications: { all: { queue, confirm: true } },
  })
  const rate = await publishing(round.messages, async () => {
    const publication = await broker.publish('all', BODY, { options: { ...PROPERTIES, persistent: true } })
    await new Promise((resolve, reject) => publication.on('success', resolve).on('error', reject))
  })
  await broker.shutdown()
  await round.bench.remove(queue)
  return rate
}

export const PUBLISHERS: Readonly<Record<string, Candidate<PublishRound>>> = {
  'amqplib, raw': raw,
  lazaret: ours,
  rascal,
  'rabbitmq-client': client,
}
