import { describe, expect, it, type TestContext } from 'vitest'
import { type JournalEntry, readJournals, sendings } from './shop/journal.ts'
import type { ServiceKind } from './shop/settings.ts'
import { end, missingServer, Shop, timing } from './shop/shop.ts'

const LETTERS = 30
/** The letter at which the first process stands still and is killed: in the middle of the last stage. */
const HELD_AT = 12

interface Letter {
  readonly id: string
  readonly state: string
}

const lettersOf = (shop: Shop) =>
  shop.database.rows<Letter>('select id, state from lazaret.dead_letters order by id')

async function post(url: string, json: unknown): Promise<{ readonly id: string }> {
  const headers = { 'content-type': 'application/json', origin: new URL(url).origin }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(json) })
  expect(response.status, await response.clone().text()).toBeLessThan(300)
  return (await response.json()) as { readonly id: string }
}

async function startReplay(url: string): Promise<string> {
  const plan = { filter: {}, reason: 'fixed', perSecond: 200, stages: [5, 'rest'] }
  const { id } = await post(`${url}/api/v1/replays`, plan)
  await post(`${url}/api/v1/replays/${id}/start`, {})
  return id
}

interface Replay {
  readonly state: string
  readonly counts: Readonly<Record<string, number>>
}

async function finished(url: string, id: string): Promise<Replay> {
  let replay: Replay | undefined
  await timing.eventually(async () => {
    const response = await fetch(`${url}/api/v1/replays/${id}`)
    // The server limits requests, and the test asks often.
    if (!response.ok) return false
    replay = (await response.json()) as Replay
    return replay.state !== 'running'
  }, 'the end of the replay')
  return replay!
}

/** Opens a shop, fills its store with dead letters, and leaves one process that will stand still at a letter. */
async function startHeld(kind: ServiceKind, when: 'before' | 'after', { onTestFinished }: TestContext) {
  const shop = await Shop.open(kind)
  onTestFinished(() => shop.close())
  const hold = { at: HELD_AT, when } as const
  const held = await shop.start(kind, { hold, tracks: kind === 'events' ? LETTERS / 2 : 0 })
  if (kind === 'orders') await shop.publish('orders', LETTERS)
  const letters = () => lettersOf(shop)
  await timing.eventually(async () => (await letters()).length === LETTERS, 'the letters')
  return { shop, held, letters }
}

/** The ids of the letters that the store has as handed on, and by whom they are held. */
const handedOn = (shop: Shop) =>
  shop.database.rows<{ readonly letter: string; readonly holder: string | null }>(
    `select body->>'letterId' as letter, body->>'heldBy' as holder from lazaret.replay_items
     where body->>'handedOn' is not null order by 1`,
  )

const idsOf = (journal: readonly JournalEntry[]) => journal.map(({ letter }) => letter.split(' ')[0]!)

const twice = (journal: readonly JournalEntry[]) =>
  [...sendings(journal)].filter(([, count]) => count > 1).map(([letter]) => letter)

describe.runIf(missingServer === undefined)(
  `a process that delivers a replay is killed${missingServer === undefined ? '' : ` (skipped: ${missingServer})`}`,
  () => {
    // Each has a shop of its own, and most of its time is the wait for leases of the process that was killed.
    it.concurrent.for(['before', 'after'] as const)(
      'B18: %s it sends a letter to RabbitMQ: another one goes on, and only that letter may be sent twice',
      async (when, context) => {
        const { shop, held, letters } = await startHeld('orders', when, context)
        const { url } = await shop.serve()
        const id = await startReplay(url)
        await held.says('holding')
        // Each letter is recorded after its send and before the next one. Only the one at which it stands still is not.
        const steps = readJournals(shop.folder).filter(
          ({ what }) => what === 'sending' || what === 'recorded',
        )
        const isSent = when === 'after' ? HELD_AT : HELD_AT - 1
        const sent = steps.filter(isSending).map(({ letter }) => letter)
        expect(sent).toHaveLength(isSent)
        expect(steps.map(({ what, letter }) => `${what} ${letter}`)).toEqual(
          sent.flatMap(letter => [`sending ${letter}`, `recorded ${letter}`]).slice(0, isSent + HELD_AT - 1),
        )
        expect((await handedOn(shop)).map(({ letter }) => letter)).toEqual(
          idsOf(steps.filter(({ what }) => what === 'recorded')).sort(),
        )
        const heir = await shop.start('orders')
        await end(held, 'SIGKILL')
        const before = readJournals(shop.folder)

        expect(await finished(url, id)).toMatchObject({ state: 'finished', counts: { recovered: LETTERS } })
        expect((await letters()).map(({ state }) => state)).toEqual(Array(LETTERS).fill('resolved'))
        const after = readJournals(shop.folder)
        expect(sendings(after).size).toBe(LETTERS)
        // The other process may handle the letter before the runner misses its record. Then it is sent once.
        const between = when === 'after' ? [before.findLast(isSending)!.letter] : []
        expect(between).toEqual(expect.arrayContaining(twice(after)))
        expect(new Set(after.filter(isSending).map(({ pid }) => pid)).size).toBe(2)
        expect([...shop.receiver.taken('bill').keys()]).toHaveLength(LETTERS)
        expect((await end(heir, 'SIGTERM')).code).toBe(0)
      },
    )

    it.concurrent.for(['before', 'after'] as const)(
      'B18: %s its sinks send: another one sends what has no outcome, and nothing else',
      async (when, context) => {
        const { shop, held, letters } = await startHeld('events', when, context)
        const { url } = await shop.serve()
        const id = await startReplay(url)
        await held.says('holding')
        // The process records what its sinks have, while they stand still: every letter of this delivery.
        await timing.eventually(async () => {
          const items = await handedOn(shop)
          const ids = items.map(({ letter }) => letter)
          return idsOf(readJournals(shop.folder).filter(isSending)).every(id => ids.includes(id))
        }, 'the records of the letters that were sent')
        for (const { holder } of await handedOn(shop)) expect(holder).toBe(held.id)
        await shop.start('events')
        await end(held, 'SIGKILL')
        const open = new Set(
          (await letters()).filter(({ state }) => state !== 'resolved').map(each => each.id),
        )
        const before = readJournals(shop.folder)

        expect(await finished(url, id)).toMatchObject({ state: 'finished', counts: { recovered: LETTERS } })
        expect((await letters()).map(({ state }) => state)).toEqual(Array(LETTERS).fill('resolved'))
        const after = readJournals(shop.folder)
        expect(sendings(after).size).toBe(LETTERS)
        const unrecorded = before.filter(isSending).filter(({ letter }) => open.has(letter.split(' ')[0]!))
        expect(twice(after).sort()).toEqual(unrecorded.map(({ letter }) => letter).sort())
        if (when === 'after') expect(unrecorded).not.toEqual([])
      },
    )
  },
)

function isSending({ what }: JournalEntry): boolean {
  return what === 'sending'
}
