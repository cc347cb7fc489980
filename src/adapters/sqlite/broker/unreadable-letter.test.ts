import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { replayInConsumer } from '../../../../test/support/replay-in-consumer.ts'
import { KeptSqliteFile } from '../../../../test/support/sqlite-file.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { openSqlite } from '../index.ts'

const clock = new FakeClock()
const timing = new TestTiming({ clock, quietMs: 15 })
const file = new KeptSqliteFile(clock)
const store = openSqlite({ path: file.path, clock })
const sealing = createSealing({ current: 'k1', keys: { k1: Buffer.alloc(32, 7) } })
const sealed = openSqlite({ path: file.path, clock, codec: sealing })
const make = createFactory({ clock })
afterAll(async () => {
  await sealed.close()
  await store.close()
  await file.close()
})

/** A replay of a letter that the database keeps, and that the consumer cannot read. */
async function unreadable(how: 'sealed' | 'damaged', handle: () => void) {
  const channel = uniqueName('orders')
  const letter = make.letter({ event: make.event({ channel }), channel })
  const writer = how === 'sealed' ? sealed : store
  await writer.deadLetters.send(letter)
  await writer.deadLetters.change(letter.id, { to: 'replaying', at: clock.now(), replayId: 'r1' })
  if (how === 'damaged') {
    const database = new DatabaseSync(file.path)
    database.prepare(`update letters set body = '{"v":99}' where id = ?`).run(letter.id)
    database.close()
  }
  return { letter, ...(await replayInConsumer(store.broker, letter, { leaveOpen: true, clock, handle })) }
}

describe('a replay whose letter only the database keeps, and that cannot be read', () => {
  it.each(['sealed', 'damaged'] as const)('E10: is handled once (%s)', async how => {
    const shop = await unreadable(how, () => {})
    await timing.eventually(() => shop.runs() > 0, 'the replay is handled')
    await timing.eventually(async () => (await shop.depth()) === 0, 'the replay is done')
    await timing.quiet()
    expect(shop.runs()).toBe(1)
    expect(shop.problems).toMatchObject([{ name: 'UnreadableLetterError' }])
    expect(String(shop.problems)).toContain(shop.letter.id)
    if (how === 'sealed')
      expect(await sealed.deadLetters.get(shop.letter.id)).toMatchObject({ state: 'replaying' })
    await shop.consumer.close()
  })

  it('E10: waits 5 s for a process with the key if it fails again', async () => {
    let isBroken = true
    const shop = await unreadable('sealed', () => {
      if (isBroken) throw new Error('still broken')
    })
    await timing.eventually(() => shop.consumer.health().settlementFailures > 0, 'it cannot be settled')
    await timing.quiet()
    expect(shop.runs()).toBe(1)
    expect(await shop.depth()).toBe(1)
    expect(shop.consumer.health().paused).toEqual([])
    isBroken = false
    await clock.advance(5_000)
    await timing.eventually(async () => (await shop.depth()) === 0, 'it is handled in the end')
    expect(shop.runs()).toBe(2)
    await shop.consumer.close()
  })
})
