import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createWorldAfterOutage, removeFolders } from '../../../test/support/cli-replay.ts'
import { changed } from '../../../test/support/conformance.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'

afterEach(removeFolders)

/** Every store URL opens the store of the world. */
async function withOpenStore() {
  const { store, folder, lazaretWith } = await createWorldAfterOutage(1)
  const openStore = async () => ({ ...store, close: async () => {} })
  return { store, folder, openStore, lazaret: lazaretWith }
}

describe('replay plan', () => {
  it('B10: shows what would be sent, what the gates say, and its id; nothing is sent', async () => {
    const { lazaret, store, clock, shop } = await createWorldAfterOutage(3)
    shop.isBroken = false
    const { letters } = await store.deadLetters.list()
    await store.deadLetters.change(letters[0]!.id, { to: 'parked', at: clock.now() })
    const { code, out, err } = await lazaret(
      'replay',
      'plan',
      '--reason',
      'billing is back',
      '--channel',
      'orders',
      '--stages',
      '1,rest',
    )
    const [, id] = /^replay (\S+) {2}approved\n/.exec(out) ?? []
    expect({ code, err }).toEqual({ code: 0, err: `next, start it: lazaret replay start ${id}\n` })
    expect(out).toBe(`replay ${id}  approved
  reason   billing is back
  planned  2026-01-01T00:00:01.000Z (now) by ann
  letters  3  (channel orders)
  hash     ${(await store.replays.get(id!))?.hash}
  stages   1, rest at 50 per second
  halts    if more than 20 % fail again, or if the first letters fail with the same cause again
  max age  1d

Gates
  2 letters will be sent
  1 letter skipped: not allowed in this state (it was replayed 0 times and is parked; unpark it to allow another)
  schema of orders/orders: 2 letters not checked: no living process in the fleet consumes orders/orders
  downstream of orders: 2 letters not checked: no living process in the fleet consumes orders
`)
    expect(shop.handled).toEqual([])
  })

  it('B10: Ctrl-C cancels it: nothing is planned', async () => {
    const { store, openStore, lazaret } = await withOpenStore()
    const stop = new AbortController()
    const deadLetters = changed<DeadLetterStore>(store.deadLetters, whole => ({
      list: query => {
        stop.abort()
        return whole.list(query)
      },
    }))
    const opened = async () => ({ ...(await openStore()), deadLetters })
    const options = { openStore: opened, interrupted: stop.signal }
    const planned = await lazaret(options, 'replay', 'plan', '--reason', 'r', '--store', 'memory:')
    expect(planned).toMatchObject({ code: 1, out: '', err: 'interrupted: nothing was planned\n' })
    expect(await store.replays.list()).toEqual([])
  })

  it('B10: shows on a terminal how many letters are checked', async () => {
    const { openStore, lazaret } = await withOpenStore()
    const written: string[] = []
    const stderr = { write: async (text: string) => void written.push(text), isTerminal: true, columns: 80 }
    await lazaret({ openStore, stderr }, 'replay', 'plan', '--reason', 'r', '--store', 'memory:')
    expect(written.join('')).toContain('100% 1/1')
  })

  it('B10: takes ids, parts of them too, but not ids and filters at once', async () => {
    const { lazaret, store } = await createWorldAfterOutage(2)
    const [letter] = (await store.deadLetters.list()).letters
    const { json } = await lazaret(
      'replay',
      'plan',
      letter!.id.slice(-8),
      '--reason',
      'r',
      '--json',
      '--to',
      'orders-v2',
    )
    expect(json[0]).toMatchObject({
      count: 1,
      selectedBy: { ids: [letter!.id] },
      to: 'orders-v2',
      createdBy: 'ann',
    })
    expect(await lazaret('replay', 'plan', letter!.id, '--channel', 'x', '--reason', 'r')).toMatchObject({
      code: 2,
      err: 'lazaret: replay plan: give ids or filters, not both\n',
    })
  })

  it('B13: takes a patch from a file', async () => {
    const { lazaret, folder } = await createWorldAfterOutage(1)
    await writeFile(join(folder, 'fix.json'), JSON.stringify([{ op: 'replace', path: '/amount', value: 7 }]))
    const { out } = await lazaret('replay', 'plan', '--reason', 'r', '--patch', 'fix.json')
    expect(out).toContain('Patch\n  {"op":"replace","path":"/amount","value":7}\n')
    await writeFile(join(folder, 'bad.json'), '[{"op":"mend"}]')
    const bad = await lazaret('replay', 'plan', '--reason', 'r', '--patch', 'bad.json')
    expect(bad).toMatchObject({ code: 2, err: expect.stringContaining('replay.patch[0].op') })
    expect((await lazaret('replay', 'plan', '--reason', 'r', '--patch', 'none.json')).err).toContain(
      'cannot read the patch none.json (ENOENT)',
    )
  })

  it('F7: takes its defaults from the config, and flags before them', async () => {
    const { lazaret, folder } = await createWorldAfterOutage(1)
    await writeFile(
      join(folder, 'lazaret.yaml'),
      'replay: { perSecond: 5, maxAge: 2h, needsApproval: true, stages: [3, rest] }',
    )
    const { json } = await lazaret('replay', 'plan', '--reason', 'r', '--json', '--per-second', '7')
    expect(json[0]).toMatchObject({
      perSecond: 7,
      maxAgeMs: 7_200_000,
      needsApproval: true,
      stages: [3, 'rest'],
      state: 'planned',
    })
  })

  it('B10: a selection without letters is refused, and no plan is stored', async () => {
    const { lazaret, store } = await createWorldAfterOutage(1)
    expect(await lazaret('replay', 'plan', '--channel', 'nosuch', '--reason', 'x', '--json')).toMatchObject({
      code: 1,
      out: '',
      err: "lazaret: no letter matches channel nosuch; nothing was planned. Run 'lazaret dlq stats' to see the channels and states\n",
    })
    const [letter] = (await store.deadLetters.list({ limit: 1 })).letters
    await store.deadLetters.change(letter!.id, { to: 'discarded', at: letter!.updatedAt, by: 'ann' })
    expect(await lazaret('replay', 'plan', '--reason', 'x')).toMatchObject({
      code: 1,
      err: "lazaret: no letter waits for a replay; nothing was planned. Run 'lazaret dlq stats' to see the channels and states\n",
    })
    expect(await store.replays.list({ limit: 1 })).toEqual([])
  })
  it('B10: a plan whose letters are all skipped is refused with the reasons, and not stored', async () => {
    const { lazaret, store, clock, bury, factory } = await createWorldAfterOutage(2)
    const { letters } = await store.deadLetters.list()
    for (const { id } of letters) await store.deadLetters.change(id, { to: 'parked', at: clock.now() })
    await bury(factory.letter({ origin: { broker: 'rabbitmq\u202e', queue: 'orders' } }))
    const { code, out, err } = await lazaret('replay', 'plan', '--reason', 'x', '--json')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    const [refusal, ...reasons] = err.trimEnd().split('\n')
    expect(refusal).toBe('lazaret: none of the 3 letters can be sent; nothing was planned')
    expect(reasons.toSorted()).toEqual([
      expect.stringMatching(
        /^ {2}1 letter skipped: no replay target here \(it came from broker 'rabbitmq\\u202e'/,
      ),
      '  2 letters skipped: not allowed in this state (it was replayed 0 times and is parked; unpark it to allow another)',
    ])
    expect(await store.replays.list()).toEqual([])
  })

  it('B10: warns when another unfinished plan has some of the letters, and says how to cancel it', async () => {
    const { lazaret, plan, store, clock } = await createWorldAfterOutage(3)
    const [letter] = (await store.deadLetters.list()).letters
    const first = await plan(letter!.id)
    await clock.advance(1)
    const { code, out, err } = await lazaret('replay', 'plan', '--reason', 'again')
    const [, second] = /^replay (\S+)/.exec(out) ?? []
    expect(code).toBe(0)
    expect(err).toBe(
      `warning: replay ${first} also has 1 of these letters to send; a letter that fails there is then sent again by this one. Cancel one of the two: lazaret replay cancel ${first}\nnext, start it: lazaret replay start ${second}\n`,
    )
    expect(out).toContain(`overlaps  1 letter also in replay ${first}\n`)
    await lazaret('replay', 'cancel', first)
    await lazaret('replay', 'cancel', second!)
    await clock.advance(1)
    const alone = await lazaret('replay', 'plan', '--reason', 'again', '--json')
    expect(alone.err).not.toContain('warning')
    expect(alone.json[0]).not.toHaveProperty('overlaps')
  })

  it('B10: the next command has the store and the config that were given, quoted, and no password', async () => {
    const { lazaret, store, openStore, folder } = await withOpenStore()
    await writeFile(join(folder, "ann's.yaml"), 'replay: {}')
    const url = 'postgres://ann:hunter2@db/shop'
    const argv = ['replay', 'plan', '--reason', 'r', '--store', url, '--config', "ann's.yaml"]
    const { err } = await lazaret({ openStore }, ...argv)
    const [replay] = await store.replays.list()
    expect(err).toBe(
      `next, start it: lazaret replay start ${replay!.id} --store 'postgres://***@db/shop' --config 'ann'\\''s.yaml'\n`,
    )
  })
})
