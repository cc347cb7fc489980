import { nats } from '../../src/adapters/nats/index.ts'
import { createEvent, type LazaretEvent } from '../../src/index.ts'
import { BODY } from '../harness/body.ts'
import type { Candidate, Round } from './consume.ts'
import { BATCH, batchOf } from './streams.ts'

// Everybody waits until the stream has each message, and sends one batch of 1000 after the other. The batch is made
// beforehand and not measured. Encoding is part of publishing.

async function publishing<M>(
  { streams, messages }: Round,
  stream: string,
  make: (from: number, count: number) => M,
  send: (made: M) => Promise<unknown>,
): Promise<number> {
  await send(make(0, 1))
  let nanoseconds = 0n
  for (let sent = 0; sent < messages; sent += BATCH) {
    const batch = make(sent, BATCH)
    const startedAt = process.hrtime.bigint()
    await send(batch)
    nanoseconds += process.hrtime.bigint() - startedAt
  }
  if ((await streams.size(stream)) !== messages + 1) throw new Error('bench: not everything was written once')
  await streams.remove(stream)
  return messages / (Number(nanoseconds) / 1e9)
}

const raw: Candidate = async round => {
  const { streams } = round
  const stream = await streams.create(streams.newName('raw'))
  return publishing(round, stream, batchOf, messages => streams.publish(`${stream}.order`, messages))
}

const lazaret: Candidate = async round => {
  const { streams } = round
  const channel = await streams.create(streams.newName('LAZARET'))
  const broker = nats({ url: streams.url })
  const payload = JSON.parse(BODY.toString())
  const make = (_: number, count: number): LazaretEvent[] =>
    Array.from({ length: count }, () =>
      createEvent({ channel, type: 'order.placed', source: '/shop', payload }),
    )
  const rate = await publishing(round, channel, make, events => broker.publish(events))
  await broker.close()
  return rate
}

export const PUBLISHERS: Readonly<Record<string, Candidate>> = { 'raw client': raw, lazaret }
