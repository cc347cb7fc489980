import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cliWorld } from '../../test/support/cli.ts'
import { encodeLetter } from '../core/dead-letter/json.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { mergeLetter } from '../core/dead-letter/merge.ts'
import { transition } from '../core/dead-letter/state.ts'
import type { Store } from '../ports/store.ts'
import { createFactory } from '../testing/factories.ts'
import type { Io } from './io.ts'
import { openStore } from './open-store.ts'

const STORES = ['memory:', 'file:./letters', 'sqlite:./lazaret.db']
const PAIRS = STORES.flatMap(from => STORES.map(to => [from, to.replace('./', './second-')] as const))

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-stores-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Letters of every sort: bytes, history, odd text, every state. */
function varied(): DeadLetter[] {
  const factory = createFactory()
  const at = factory.letter().createdAt
  const twice = factory.event({ payload: ['"quoted"', '\u2028', { deep: [null, 1e21], ['__proto__']: 1 }] })
  const first = factory.letter({
    event: twice,
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
    at: at + 9,
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

const LINES = varied().map(encodeLetter)
const sorted = (text: string) =>
  text
    .split('\n')
    .filter(line => line !== '')
    .sort()

const opened: Store[] = []
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
})

/** The command line on this store, which is opened once for all its commands: opening a database starts threads. */
function on(url: string) {
  const { lazaretWith } = cliWorld(folder)
  let store: Store | undefined
  const open: Io['openStore'] = async (named, options) => {
    if (store === undefined) {
      store = await openStore(named, options)
      opened.push(store)
    }
    return { ...store, close: async () => {} }
  }
  const env = { LAZARET_STORE: url }
  return (input: string, ...argv: string[]) => lazaretWith({ env, input, openStore: open }, ...argv)
}

describe('letters move between stores', () => {
  it.each(PAIRS)('F8: from %s to %s unchanged', async (from, to) => {
    const [source, target] = [on(from), on(to)]
    expect(await source(LINES.join('\n'), 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    const exported = await source('', 'dlq', 'export')
    expect(sorted(exported.out)).toEqual([...LINES].sort())
    expect(await target(exported.out, 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    expect((await target('', 'dlq', 'export')).out).toBe(exported.out)
  })
})

describe.each(STORES)('on %s', url => {
  it('F8: every verb that needs no consumer does its work', async () => {
    const lazaret = on(url)
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

    const { json: plan } = await lazaret('', 'replay', 'plan', '--reason', 'r', '--needs-approval', '--json')
    expect(plan[0]).toMatchObject({ count: 5, findings: { replay: 3, skip_state: 1, skip_unapproved: 1 } })
    expect((await lazaret('', 'replay', 'approve', plan[0].id, '--by', 'bob')).code).toBe(0)
    expect((await lazaret('', 'replay', 'list', '--json')).json).toMatchObject([
      { id: plan[0].id, state: 'approved' },
    ])
    expect((await lazaret('', 'replay', 'cancel', plan[0].id)).code).toBe(0)
    expect((await lazaret('', 'replay', 'show', plan[0].id, '--json')).json[0]).toMatchObject({
      state: 'cancelled',
      outcomes: { skipped: 2 },
    })

    expect((await lazaret('', 'dlq', 'discard', dead)).code).toBe(0)
    expect((await lazaret('', 'dlq', 'reopen', dead)).code).toBe(0)
    expect((await lazaret('', 'dlq', 'purge', '--state', 'resolved', '--yes')).out).toBe(
      'deleted 1 dead letter\n',
    )
    expect((await lazaret('', 'dlq', 'purge', '--yes', '--json')).json).toEqual([{ deleted: 5, of: 5 }])
    expect((await lazaret('', 'dlq', 'list')).err).toBe('no dead letters match\n')
    const { json: verdict } = await lazaret('', 'doctor', '--json')
    expect(
      verdict[0].checks.filter(
        ({ name, status }: { name: string; status: string }) => status !== 'ok' && name !== 'clock',
      ),
    ).toEqual([])
  })
})

describe('replay start', () => {
  it('F8: a store that is no broker says where to go', async () => {
    const lazaret = on('file:./letters')
    await lazaret(LINES.join('\n'), 'dlq', 'import')
    const { json } = await lazaret('', 'replay', 'plan', '--reason', 'r', '--json')
    const { code, err } = await lazaret('', 'replay', 'start', json[0].id)
    expect(code).toBe(1)
    expect(err).toContain('keeps letters but is no broker to send them to')
    expect((await lazaret('', 'replay', 'show', json[0].id, '--json')).json[0].state).toBe('approved')
  })
})

describe.each(['file:./letters', 'sqlite:./lazaret.db'])('with a key in the config, on %s', url => {
  const key = (fill: number) => Buffer.alloc(32, fill).toString('base64')
  const config = (...ids: readonly string[]) =>
    writeFile(
      join(folder, 'lazaret.yaml'),
      `sealing: { current: ${ids[0]}, keys: { ${ids.map(id => `${id}: "${key(id.charCodeAt(1))}"`).join(', ')} } }`,
    )

  it('F7: what is stored is sealed, what is shown and exported is not, and a missing key is one line', async () => {
    await config('k1')
    const lazaret = on(url)
    const secret = encodeLetter(
      createFactory().letter({ event: createFactory().event({ payload: 'in the clear' }) }),
    )
    expect(await lazaret(secret, 'dlq', 'import')).toMatchObject({ code: 0 })
    expect((await lazaret('', 'dlq', 'export')).out).toBe(`${secret}\n`)
    for (const store of opened.splice(0)) await store.close()
    expect(await bytesBelow(folder)).not.toContain('in the clear')

    await config('k2', 'k1')
    expect((await on(url)('', 'dlq', 'export')).out).toBe(`${secret}\n`)
    await config('k2')
    const { code, out, err } = await on(url)('', 'dlq', 'list')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(
      /^lazaret: event \S+ is sealed with key 'k1', which is not among the keys given; .*\n$/,
    )
  })
})

async function bytesBelow(path: string): Promise<string> {
  const files = await readdir(path, { recursive: true, withFileTypes: true })
  const texts = files
    .filter(file => file.isFile())
    .map(file => readFile(join(file.parentPath, file.name), 'latin1'))
  return (await Promise.all(texts)).join('')
}
