import { afterAll, describe, expect, it } from 'vitest'
import { streamsOf } from '../../src/adapters/nats/broker/streams/names.ts'
import { nats } from '../../src/adapters/nats/index.ts'
import { systemRandom } from '../../src/ports/clock.ts'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findNats } from '../services/nats.ts'
import { OutsideNats } from '../support/outside-nats.ts'
import { ConsumerOutput, consumerThatDies } from './killed-consumers.ts'

const found = await findNats()
const isOurs = found.found && found.isPrivate
const why = found.found ? ' (skipped: the server is not ours)' : ` (skipped: ${found.why})`
const service = isOurs ? await found.start() : undefined
const outside = service && new OutsideNats(service.url)
afterAll(async () => {
  await outside?.close()
  await service?.close()
})
const make = createFactory({ random: systemRandom })
const dies = consumerThatDies('nats-consumer.ts', service?.url)

/** Registers the handler, so that it gets what is published next. */
async function opened(channel: string) {
  const broker = nats({ url: service!.url, ackWaitMs: 2_000, leaseMs: 1_000 })
  const first = await broker.subscribe({ channel, handler: 'bill', prefetch: 1, ordering: 'none' }, () => {})
  await first.close()
  return broker
}

describe.runIf(isOurs)(`a consumer on NATS that is killed${isOurs ? '' : why}`, () => {
  for (const ordering of ['none', 'by-key'])
    it(`B8: with ordering '${ordering}' what kills its process is in quarantine after 3 tries, and its neighbours are handled`, async () => {
      const channel = uniqueName('deadly')
      const broker = await opened(channel)
      const events = make.events(60, { channel })
      // Two in one window, and one in the next.
      const deadly = Array.from({ length: 3 }, () => make.event({ channel, type: 'deadly' }))
      const [a, b, c] = deadly
      await broker.publish([...events.slice(0, 10), a!, b!, ...events.slice(10, 40), c!, ...events.slice(40)])

      const told = new ConsumerOutput()
      const letters = () => outside!.letters(streamsOf(channel).letters)
      const isDone = async () =>
        told.handled.size >= events.length &&
        (await letters()).length >= deadly.length &&
        (await broker.depth(channel, 'bill')) === 0
      let deaths = 0
      while (await dies([channel, ordering], told, { isDone })) {
        deaths++
        expect(deaths).toBeLessThan(20)
      }
      expect(deaths).toBeLessThanOrEqual(3 * deadly.length)
      expect([...told.handled].sort()).toEqual(events.map(({ id }) => id).sort())
      const stored = await letters()
      expect(stored.map(({ event }) => event.id).sort()).toEqual(deadly.map(({ id }) => id).sort())
      for (const { state, cycle } of stored)
        expect({ state, reason: cycle.reason }).toEqual({ state: 'quarantined', reason: 'crash_loop' })
      await broker.close()
    })

  it('B8: a process that is killed costs those that waited in it no attempt, not even their only one', async () => {
    const channel = uniqueName('killed')
    const broker = await opened(channel)
    const events = make.events(60, { channel })
    await broker.publish(events)
    const told = new ConsumerOutput()
    const kill = () => (told.handled.size >= 5 ? 'SIGKILL' : undefined)
    expect(await dies([channel, 'none', '1'], told, { afterLine: kill })).toBe(true)
    const isDone = async () => told.handled.size === events.length
    expect(await dies([channel, 'none', '1'], told, { isDone })).toBe(false)
    expect(told.letters).toBe(0)
    await broker.close()
  })
})
