import { expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/index.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { createDispatcher } from '../dispatcher.ts'
import { type LetterHold, underHold } from '../letter-hold.ts'

/** A dispatcher, and letters that it sends under a hold that the test decides on. */
async function holdWorld(letters: number) {
  const clock = new FakeClock()
  const make = createFactory({ clock })
  const deadLetters = memoryDeadLetters()
  const written: string[] = []
  const dispatcher = createDispatcher({
    sinks: {
      crm: {
        async write(batch) {
          written.push(...batch.map(({ id }) => id))
        },
      },
    },
    ...{ deadLetters, clock, leaveOpen: true },
  })
  const store = { answer: async () => true, asking: 0, mostAsking: 0 }
  const outcomes: string[] = []
  const sent = { state: 'replaying', replays: 1, replayId: 'replay-1' } as const
  const all = Array.from({ length: letters }, () => ({
    ...make.letter({ handler: 'crm', origin: {} }),
    ...sent,
  }))
  for (const letter of all) await deadLetters.send(letter)
  const holdOf = (): LetterHold => {
    let isSure = false
    return {
      get isSure() {
        return isSure
      },
      async confirm() {
        store.mostAsking = Math.max(store.mostAsking, ++store.asking)
        isSure = await store.answer().finally(() => store.asking--)
        return isSure
      },
      follow() {},
    }
  }
  return {
    ...{ clock, dispatcher, written, store, outcomes, all, deadLetters },
    resend() {
      for (const letter of all)
        dispatcher.resend(underHold(letter, holdOf())).then(
          () => outcomes.push('delivered'),
          () => outcomes.push('not delivered'),
        )
    },
  }
}

it('B18: a letter that may be of another process is written when the store has said that it is not', async () => {
  const { clock, resend, written, outcomes, all, deadLetters, dispatcher } = await holdWorld(30)
  resend()
  await clock.advance(1_000)
  expect(written).toEqual(all.map(({ event }) => event.id))
  expect(outcomes).toEqual(Array(30).fill('delivered'))
  expect(await deadLetters.stats()).toMatchObject({ byState: { resolved: 30 } })
  await dispatcher.close()
})

it('B18: a letter of another process is not written, and not changed', async () => {
  const { clock, resend, written, outcomes, store, deadLetters, dispatcher } = await holdWorld(3)
  store.answer = async () => false
  resend()
  await clock.advance(1_000)
  expect(written).toEqual([])
  expect(outcomes).toEqual(Array(3).fill('not delivered'))
  expect(await deadLetters.stats()).toMatchObject({ byState: { replaying: 3 } })
  expect(dispatcher.health().sinks.crm.buffered).toBe(0)
  await dispatcher.close()
})

it('B18: while the store does not say it, other events are written, and few questions are open', async () => {
  const { clock, resend, written, store, dispatcher } = await holdWorld(100)
  store.answer = () => new Promise(() => {})
  resend()
  await clock.advance(100)
  await dispatcher.track({ type: 'order.paid' })
  expect(written).toHaveLength(1)
  expect(store.mostAsking).toBe(10)
  store.answer = () => Promise.reject(new Error('away'))
  await clock.advance(20_000)
  expect(written).toHaveLength(1)
  store.answer = async () => true
  await clock.advance(10_000)
  expect(written).toHaveLength(101)
  await dispatcher.close()
})

it('B18: a dispatcher that closes meanwhile leaves the letters dead', async () => {
  const { clock, resend, written, store, deadLetters, dispatcher } = await holdWorld(20)
  store.answer = () => new Promise(() => {})
  resend()
  await clock.advance(100)
  const closed = dispatcher.close({ graceMs: 100 })
  await clock.advance(10_000)
  await closed
  expect(written).toEqual([])
  expect(await deadLetters.stats()).toMatchObject({ byState: { dead: 20 } })
})

it('B18: a dispatcher that closes while it waits to ask again leaves no timer', async () => {
  const { clock, resend, store, dispatcher } = await holdWorld(2)
  store.answer = () => Promise.reject(new Error('the store is away'))
  resend()
  await clock.advance(100)
  const closed = dispatcher.close({ graceMs: 0 })
  await clock.advance(50)
  await closed
  expect(clock.pending).toBe(0)
})
