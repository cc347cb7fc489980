import { expect } from 'vitest'
import type { Io } from '../../src/cli/io.ts'
import { openStore } from '../../src/cli/open-store.ts'
import { safeText } from '../../src/cli/print/safe-text.ts'
import { encodeLetter } from '../../src/core/dead-letter/json.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { mergeLetter } from '../../src/core/dead-letter/merge.ts'
import { transition } from '../../src/core/dead-letter/transition.ts'
import type { Store } from '../../src/ports/store.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { cliWorld, type Ran } from './cli.ts'

/** The command line on one store: what comes in, and what is typed. */
export type OnStore = (input: string, ...argv: string[]) => Promise<Ran>

/** Letters of every sort: bytes, history, odd text, every state. */
function varied(): DeadLetter[] {
  const factory = createFactory()
  const at = factory.letter().createdAt
  const twice = factory.event({ payload: ['"quoted"', '\u2028', { deep: [null, 1e21], ['__proto__']: 1 }] })
  const first = factory.letter({
    event: twice,
    at: at - 9,
    detail: { limit: 3 },
    job: 'Mail',
    release: '1.2',
    host: 'web-1',
  })
  const second = factory.letter({
    event: twice,
    replay: 1,
    replayId: 'r1',
    replayedBy: 'bob',
    error: new TypeError('x\ny'),
  })
  return [
    factory.letter({
      event: factory.event({ payload: new Uint8Array([0, 10, 255]), headers: { 'X-Id': 'ü' } }),
    }),
    factory.letter({
      expiresAt: at + 5,
      attempts: [
        factory.attempt(1, { delayMs: 7 }),
        factory.attempt(2, { endedAt: undefined, failure: undefined }),
      ],
    }),
    mergeLetter(first, second),
    factory.letter({ reason: 'poison', origin: { queue: 'q', offset: '9007199254740993', partition: 3 } }),
    transition(
      factory.letter({ failure: undefined, attempts: [], reason: 'rate_limited' }),
      'parked',
      at + 1,
    ),
    transition(factory.letter({ channel: 'billing' }), 'resolved', at + 2),
  ]
}

/** One of each as it is exported. */
export const LINES = varied().map(letter => safeText(encodeLetter(letter)))
export const sortedLines = (text: string) =>
  text
    .split('\n')
    .filter(line => line !== '')
    .sort()

/** Stores that commands of a test have opened. */
export class OpenStores {
  readonly #opened: Store[] = []

  /** The command line on this store, which is opened once for all its commands: opening a database takes its time. */
  on(url: string, folder: string): OnStore {
    const { lazaretWith } = cliWorld(folder)
    let store: Store | undefined
    const open: Io['openStore'] = async (named, options) => {
      if (store === undefined) {
        store = await openStore(named, options)
        this.#opened.push(store)
      }
      return { ...store, close: async () => {} }
    }
    const env = { LAZARET_STORE: url }
    return (input, ...argv) => lazaretWith({ env, input, openStore: open }, ...argv)
  }

  async close(): Promise<void> {
    for (const store of this.#opened.splice(0)) await store.close()
  }
}

/** The verbs of a replay that send nothing, for letters that go to a channel of the store's own broker. */
async function checkReplayVerbs(lazaret: OnStore): Promise<void> {
  const flags = ['--reason', 'r', '--to', 'orders', '--needs-approval', '--json']
  const { json: plan } = await lazaret('', 'replay', 'plan', ...flags)
  expect(plan[0]).toMatchObject({ count: 5, findings: { replay: 3, skip_unapproved: 1, skip_state: 1 } })
  expect((await lazaret('', 'replay', 'approve', plan[0].id, '--by', 'bob')).code).toBe(0)
  expect((await lazaret('', 'replay', 'list', '--json')).json).toMatchObject([
    { id: plan[0].id, state: 'approved' },
  ])
  expect((await lazaret('', 'replay', 'cancel', plan[0].id)).code).toBe(0)
  expect((await lazaret('', 'replay', 'show', plan[0].id, '--json')).json[0]).toMatchObject({
    state: 'cancelled',
    outcomes: { skipped: 2, waiting: 3 },
  })
}

/** Every verb that needs no consumer does its work on an empty store. */
export async function checkEveryVerb(lazaret: OnStore, hasBroker = true): Promise<void> {
  await lazaret(LINES.join('\n'), 'dlq', 'import')
  const { json: listed } = await lazaret('', 'dlq', 'list', '--json')
  expect(listed.map(({ id }) => id).sort()).toEqual(LINES.map(line => JSON.parse(line).id).sort())
  const dead = listed.find(({ state }) => state === 'dead')!.id
  expect((await lazaret('', 'dlq', 'show', dead.slice(-9), '--json')).json[0].id).toBe(dead)
  expect((await lazaret('', 'dlq', 'stats', '--json')).json[0]).toMatchObject({
    count: 6,
    byState: { parked: 1, resolved: 1, quarantined: 1 },
  })

  const { json: groups } = await lazaret('', 'groups', 'list', '--json')
  const group = groups[0].id
  expect((await lazaret('', 'groups', 'ack', group, '--owner', 'bob', '--json')).json[0]).toMatchObject({
    state: 'acknowledged',
  })
  expect((await lazaret('', 'groups', 'mute', group, '--until', '1d', '--note', 'n')).code).toBe(0)
  expect((await lazaret('', 'groups', 'resolve', group)).code).toBe(0)
  expect((await lazaret('', 'groups', 'show', group, '--json')).json[0]).toMatchObject({
    triage: { owner: 'bob', state: 'resolved' },
    notes: [{ text: 'n' }],
  })

  // None of them says which broker it came from.
  const refused = await lazaret('', 'replay', 'plan', '--reason', 'r', '--json')
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toContain('none of the 5 letters can be sent; nothing was planned\n')
  expect(refused.err).toMatch(/ {2}4 letters skipped: no replay target here/)
  expect((await lazaret('', 'replay', 'list', '--json')).json).toEqual([])
  if (hasBroker) await checkReplayVerbs(lazaret)

  expect((await lazaret('', 'dlq', 'discard', dead)).code).toBe(0)
  expect((await lazaret('', 'dlq', 'reopen', dead)).code).toBe(0)
  expect((await lazaret('', 'dlq', 'purge', '--state', 'resolved', '--yes')).out).toBe(
    'deleted 1 dead letter\n',
  )
  expect((await lazaret('', 'dlq', 'purge', '--yes', '--json')).json).toEqual([{ deleted: 5, of: 5 }])
  expect((await lazaret('', 'dlq', 'list')).err).toBe('no dead letters\n')
  const { json: verdict } = await lazaret('', 'doctor', '--json')
  expect(
    verdict[0].checks.filter(
      ({ name, status }: { name: string; status: string }) => status !== 'ok' && name !== 'clock',
    ),
  ).toEqual([])
}
