import { expect, it } from 'vitest'
import type { HandlerContext } from './context.ts'
import type { StreamDelivery } from './delivery.ts'
import { EntryReturns } from './entry-returns.ts'

const DELAY_AT = 2
const FIELDS = 5

it('B3: the wait for the batch before is part of the delay, so that an entry that is due goes straight back', async () => {
  let now = 1_000
  const sent: { delays: number[]; answer(): void }[] = []
  const context = {
    connection: {
      send: (_name: string, [, , , , , , , , ...fields]: readonly string[]) =>
        new Promise(resolve => {
          const delays = fields.filter((_, at) => at % FIELDS === DELAY_AT).map(Number)
          sent.push({ delays, answer: () => resolve(delays.map(() => 1)) })
        }),
    },
    keys: { channel: 'orders', handler: 'bill', events: 'e', own: 'o', waiting: 'w', notes: 'n' },
    settings: { clock: { now: () => now }, codec: { events: {} } },
    hasGivenUp: () => false,
  } as unknown as HandlerContext
  const returns = new EntryReturns(context)
  const add = (id: string, notBefore: number) => {
    const entryLog = { from: id, started: 1, ended: 1, history: [] }
    return returns.add(
      { side: 'own', id, content: { raw: '' }, entryLog } as unknown as StreamDelivery,
      notBefore,
    )
  }
  const first = add('1-0', 1_500)
  await new Promise(resolve => process.nextTick(resolve))
  const rest = [add('2-0', 1_001), add('3-0', 1_500)]
  now = 1_200
  sent[0]!.answer()
  expect(await first).toBe(true)
  await Promise.resolve()
  sent[1]!.answer()
  expect(await Promise.all(rest)).toEqual([true, true])
  expect(sent.map(({ delays }) => delays)).toEqual([[500], [0, 300]])
})
