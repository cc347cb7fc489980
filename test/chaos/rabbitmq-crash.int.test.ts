import { afterAll, describe, expect, it, onTestFailed } from 'vitest'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { systemRandom } from '../../src/ports/clock.ts'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { RabbitmqAdmin } from '../support/rabbitmq.ts'
import { ConsumerOutput, consumerThatDies } from './killed-consumers.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? '' : ` (skipped: ${found.why})`
const dies = consumerThatDies('rabbitmq-consumer.ts', server?.url)
const make = createFactory({ random: systemRandom })

/**
 * A suspect is in our hands beside a neighbour that has run for more than 5 s, as on a machine that stands still for so
 * long. Should the neighbour kill the process then, the suspect is charged with that death too.
 */
const threeOrMore = expect.toSatisfy((attempts: number) => attempts >= 3)

/** Without it, a run that stands still says only that its time is over. */
function tellWhereItStands(channel: string, told: ConsumerOutput): void {
  onTestFailed(async () => {
    const outside = await RabbitmqAdmin.at(server!.url)
    const places = [channel, `${channel}.suspects`, `${channel}.dlq`]
    const depths = await Promise.all(places.map(place => outside.depth(place).catch(String)))
    process.stdout.write(
      `${told.handled.size} handled, ${told.letters} letters, messages in ${places}: ${depths}\n`,
    )
    await outside.close()
  })
}

describe.runIf(found.found)(`a consumer that is killed${why}`, () => {
  it.each(['quorum', 'classic'] as const)(
    'B8: on %s queues, what kills its process is in quarantine after 3 tries, and its neighbours are handled',
    async queueType => {
      const channel = uniqueName('deadly')
      const broker = rabbitmq({ url: server!.url, queueType })
      const events = make.events(60, { channel })
      // Two in one window, and one in the next.
      const deadly = Array.from({ length: 3 }, () => make.event({ channel, type: 'deadly' }))
      const [a, b, c] = deadly
      await broker.publish([...events.slice(0, 10), a!, b!, ...events.slice(10, 40), c!, ...events.slice(40)])

      const told = new ConsumerOutput()
      tellWhereItStands(channel, told)
      const outside = await RabbitmqAdmin.at(server!.url)
      const quarantine = `${channel}.dlq.quarantine.unknown`
      const letters = () => outside.depth(quarantine).catch(() => 0)
      const isDone = async () => told.handled.size >= events.length && (await letters()) >= deadly.length
      let deaths = 0
      while (await dies([channel, queueType], told, { isDone })) {
        deaths++
        expect(deaths).toBeLessThan(20)
      }
      // One death made suspects of the first two together; each of the others was somebody's own.
      expect(deaths).toBeLessThanOrEqual(3 * deadly.length)
      expect([...told.handled].sort()).toEqual(events.map(({ id }) => id).sort())
      const stored = await outside.letters(quarantine)
      expect(stored.map(({ event }) => event.id).sort()).toEqual(deadly.map(({ id }) => id).sort())
      for (const { state, cycle } of stored)
        expect({ state, ...cycle }).toMatchObject({
          state: 'quarantined',
          reason: 'crash_loop',
          attemptCount: threeOrMore,
        })
      const [message] = await outside.peek(quarantine)
      expect(message?.properties.headers).toMatchObject({
        'lazaret-reason': 'crash_loop',
        'lazaret-attempts': threeOrMore,
      })
      expect(await outside.depth(`${channel}.dlq`)).toBe(0)
      expect(await outside.depth(channel)).toBe(0)
      expect(await outside.depth(`${channel}.suspects`)).toBe(0)
      await outside.close()
      await broker.close()
    },
  )

  it.each(['quorum', 'classic'] as const)(
    'B8: on %s queues, a process that is killed costs those that waited in it no attempt, not even their only one',
    async queueType => {
      const channel = uniqueName('killed')
      const broker = rabbitmq({ url: server!.url, queueType })
      const events = make.events(60, { channel })
      await broker.publish(events)
      const told = new ConsumerOutput()
      tellWhereItStands(channel, told)
      const kill = () => (told.handled.size >= 5 ? 'SIGKILL' : undefined)
      expect(await dies([channel, queueType, '1'], told, { afterLine: kill })).toBe(true)
      const isDone = async () => told.handled.size + told.letters >= events.length
      expect(await dies([channel, queueType, '1'], told, { isDone })).toBe(false)
      expect({ handled: told.handled.size, letters: told.letters }).toEqual({ handled: 60, letters: 0 })
      await broker.close()
    },
  )
})
