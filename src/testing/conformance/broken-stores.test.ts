import { describe, expect, it } from 'vitest'
import { changed, failing } from '../../../test/support/conformance.ts'
import { memoryDeadLetters, memoryLedger, memorySink, memorySpill } from '../../adapters/memory/index.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { DeadLetterStore, Spill } from '../../ports/dead-letters.ts'
import type { Ledger } from '../../ports/ledger.ts'
import type { Sink } from '../../ports/sink.ts'
import { recordingDeadLetters } from '../dead-letters.ts'
import { FakeClock, settle } from '../fake-clock.ts'
import { deadLetterStoreConformance } from './dead-letters.ts'
import { ledgerConformance } from './ledger.ts'
import { sinkConformance } from './sink.ts'
import { spillConformance } from './spill.ts'

/** What is broken, the test that must see it, and how it is done. */
type Break<T> = readonly [what: string, caughtBy: string, broken: (whole: T) => Partial<T>]

const STORES: readonly Break<DeadLetterStore>[] = [
  [
    'overwrites instead of merging',
    'E10: a failed replay becomes the next cycle of the same letter',
    store => ({
      send: async letter => {
        await store.delete(letter.id)
        await store.send(letter)
      },
    }),
  ],
  [
    'lets every replay resolve a letter',
    'B14: a replaying letter becomes resolved only through its own event',
    store => ({ change: (id, { onlyIfSentBy: _, ...change }) => store.change(id, change) }),
  ],
  [
    'does not look at the letter and its replay together',
    'B14: a replaying letter becomes resolved only through its own event',
    store => ({
      change: (id, { onlyIfSentBy, ...change }) =>
        store.change(id, { ...change, from: onlyIfSentBy === undefined ? change.from : 'replaying' }),
    }),
  ],
  [
    'takes a claim that comes too late',
    'B18: a claim that comes when the letter was replayed in the meantime does nothing',
    store => ({ change: (id, { onlyIfReplays: _, ...change }) => store.change(id, change) }),
  ],
  [
    'changes a letter that has failed again',
    'F8: a change that was decided before the letter failed again does nothing',
    store => ({ change: (id, { onlyIfLastFailedAt: _, ...change }) => store.change(id, change) }),
  ],
  [
    'pages by offset',
    'E9: letters that stay are listed once, while others come and go between pages',
    store => ({
      list: async ({ cursor = '0', limit = 100 } = {}) => {
        const { letters } = await store.list({ limit: 1_000 })
        const end = Number(cursor) + limit
        return {
          letters: letters.slice(Number(cursor), end),
          cursor: end < letters.length ? `${end}` : undefined,
        }
      },
    }),
  ],
  [
    'lists oldest first',
    'E10: letters are listed by newest failure, then by greatest id',
    store => ({
      list: async query => {
        const page = await store.list(query)
        return { ...page, letters: page.letters.toReversed() }
      },
    }),
  ],
  [
    'knows no category',
    'E9: every filter selects its letters, alone and in combination',
    store => ({ list: query => store.list({ ...query, category: undefined }) }),
  ],
  [
    'counts all in stats',
    'E9: every filter selects its letters, alone and in combination',
    store => ({ stats: () => store.stats() }),
  ],
  [
    'stops a count and does not say so',
    'E9: a count that may stop is exact, or a lower bound that says so',
    store => ({
      stats: async (filter, { stopAt = Number.POSITIVE_INFINITY } = {}) => {
        const stats = await store.stats(filter)
        return { ...stats, count: Math.min(stats.count, stopAt) }
      },
    }),
  ],
  [
    'stops a count that is complete',
    'E9: a count that may stop is exact, or a lower bound that says so',
    store => ({
      stats: async (filter, { stopAt } = {}) => {
        const stats = await store.stats(filter)
        return stopAt === undefined || stats.count < stopAt
          ? stats
          : { ...stats, count: stopAt, atLeast: true }
      },
    }),
  ],
  [
    'stops a count and forgets the other channels',
    'E9: a count that may stop is exact, or a lower bound that says so',
    store => ({
      stats: async (filter, { stopAt } = {}) => {
        const stats = await store.stats(filter)
        if (stopAt === undefined || stats.count <= stopAt) return stats
        const byChannel = Object.fromEntries(Object.entries(stats.byChannel).slice(0, stopAt))
        return { ...stats, count: stopAt, atLeast: true, byChannel }
      },
    }),
  ],
  [
    'counts all in timelines',
    'E10: a timeline counts by the time of the last failure, for every filter and bucket size',
    store => ({ timeline: (_, span) => store.timeline({}, span) }),
  ],
  [
    'searches with wildcards',
    'E9: a search matches every character literally and ignores case',
    store => ({ list: query => store.list({ ...query, search: query?.search?.replace(/[%_]/g, '') }) }),
  ],
  [
    'changes whatever state a letter is in',
    'E9: a change with another expected state does nothing',
    store => ({ change: (id, { from: _, ...change }) => store.change(id, change) }),
  ],
  [
    'answers an illegal change with undefined',
    'E9: legal transitions change the state, and others reject and change nothing',
    store => ({ change: (id, change) => store.change(id, change).catch(() => undefined) }),
  ],
  [
    'checks first and changes later',
    'K8: of many concurrent replays of a letter exactly one succeeds',
    store => ({
      change: async (id, { from, ...change }) => {
        const letter = await store.get(id)
        await settle()
        if (letter?.state !== from) return undefined
        await store.delete(id)
        await store.send(letter as DeadLetter)
        return await store.change(id, change)
      },
    }),
  ],
  [
    'drops the oldest when it is full',
    'P1: a full store rejects new letters, drops none, and accepts letters again after a delete',
    store => ({
      send: async letter => {
        await store.send(letter).catch(async () => {
          const { letters } = await store.list()
          await store.delete(letters.at(-1)!.id)
          await store.send(letter)
        })
      },
    }),
  ],
  [
    'deletes many without a look at their version',
    'F8: deleteMany deletes the letters that are as they were seen, and returns their ids',
    store => ({
      deleteMany: async seen => {
        const gone = await Promise.all(seen.map(({ id }) => store.delete(id)))
        return seen.filter((_, index) => gone[index]).map(({ id }) => id)
      },
    }),
  ],
  [
    'says of every letter that it deleted it',
    'F8: of concurrent deletions each letter counts in one',
    store => ({
      deleteMany: async seen => {
        await store.deleteMany(seen)
        return seen.map(({ id }) => id)
      },
    }),
  ],
  [
    'reads the versions of all letters, whatever the filter',
    'F8: versions returns every letter that matches once, as it is',
    store => ({ versions: () => store.versions() }),
  ],
  [
    'reads versions page by page by offset',
    'F8: letters that are deleted while versions are read hide no others',
    store => ({
      async *versions() {
        for (let start = 0; ; start += 10) {
          const { letters } = await store.list({ limit: 1_000 })
          if (start >= letters.length) return
          yield letters
            .slice(start, start + 10)
            .map(({ id, state, cycle }) => ({ id, state, lastFailedAt: cycle.lastFailedAt }))
        }
      },
    }),
  ],
  [
    'takes letters after close',
    'P1: after close, sending rejects as closed, and closing twice is safe',
    store => ({ send: letter => store.send(letter).catch(() => {}) }),
  ],
]

const LEDGERS: readonly Break<Ledger>[] = [
  [
    'marks as done before the handler has run',
    'S8: a new pair is claimed; other claims get busy and the end of the lease',
    ledger => ({
      claim: async (handler, key, leaseMs) => {
        const claim = await ledger.claim(handler, key, leaseMs)
        if (claim.kind === 'claimed') await ledger.complete(handler, key, claim.token)
        return claim
      },
    }),
  ],
  [
    'gives a pair to everyone',
    'S8: of many concurrent claims exactly one gets the pair',
    () => ({ claim: async () => ({ kind: 'claimed', token: 'everyone' }) }),
  ],
  [
    'runs handler and key together',
    'S8: handler and key form a pair, and pairs with the same concatenation differ',
    ledger => ({ claim: (handler, key, leaseMs) => ledger.claim('all', `${handler}:${key}`, leaseMs) }),
  ],
  [
    'never lets a lease expire',
    'S8: an expired lease can be claimed again',
    ledger => ({ claim: (handler, key) => ledger.claim(handler, key, 1e12) }),
  ],
  ['does not renew', 'S8: a renewed lease lasts longer', () => ({ renew: async () => true })],
  [
    'does not forget',
    'S8: forget makes a done pair claimable, keeps a lease, and accepts an unknown pair',
    () => ({ forget: async () => {} }),
  ],
  [
    'says yes to any token',
    'S8: another token cannot change a lease',
    ledger => ({
      complete: async (handler, key, token) => (await ledger.complete(handler, key, token)) || true,
    }),
  ],
]

const SPILLS: readonly Break<Spill>[] = [
  [
    'removes before the target has it',
    'B7: a refused letter stays, and the next drain sends it',
    spill => ({
      drain: async target => {
        const taken = await takeAll(spill)
        const results = await Promise.allSettled(taken.map(letter => target.send(letter)))
        return results.filter(result => result.status === 'fulfilled').length
      },
    }),
  ],
  [
    'drains newest first',
    'B7: a drain sends complete letters, oldest first, and removes them',
    spill => ({
      drain: async target => {
        const taken = await takeAll(spill)
        for (const letter of taken.toReversed()) await target.send(letter)
        return taken.length
      },
    }),
  ],
  [
    'stops at a refused letter',
    'B7: a letter that the target always refuses does not block the others',
    spill => ({
      drain: async target => {
        let isRefusing = false
        const send = async (letter: DeadLetter) => {
          if (isRefusing) throw new Error('not tried')
          isRefusing = true
          await target.send(letter)
          isRefusing = false
        }
        return spill.drain({ send, close: async () => {} })
      },
    }),
  ],
  [
    'tries every letter while the target is unreachable',
    'B7: a drain asks a target that is unreachable only a few times',
    spill => ({
      drain: async target => {
        const results = await Promise.allSettled((await takeAll(spill)).map(letter => target.send(letter)))
        return results.length
      },
    }),
  ],
  [
    'takes letters after close',
    'P1: after close, sending rejects as closed, and closing twice is safe',
    spill => ({ send: letter => spill.send(letter).catch(() => {}) }),
  ],
]

const SINKS: readonly Break<Sink>[] = [
  ['writes nothing', 'E17: when a write resolves', () => ({ write: async () => undefined })],
  [
    'is deaf to its signal',
    'E17: an aborted signal prevents the write',
    sink => ({ write: batch => sink.write(batch, { signal: new AbortController().signal }) }),
  ],
  [
    'probes by writing',
    'E18: a probe of a sink whose receiver works',
    sink => ({ probe: async context => void (await sink.write([{ id: 'probe' } as never], context)) }),
  ],
]

describe('the suites of the stores and the sink', () => {
  it.each(STORES)('P1: catch a dead-letter store that %s', async (_, caughtBy, broken) => {
    const failed = await failing(test => {
      deadLetterStoreConformance({
        test,
        declares: { durable: false, bounded: true },
        setup: async options => ({
          clock: new FakeClock(),
          store: changed<DeadLetterStore>(memoryDeadLetters(options), broken),
        }),
      })
    }, caughtBy)
    expect(failed).toHaveLength(1)
  })

  it.each(LEDGERS)('S8: catch a ledger that %s', async (_, caughtBy, broken) => {
    const failed = await failing(test => {
      ledgerConformance({
        test,
        declares: { durable: false },
        setup: async () => {
          const driven = new FakeClock()
          return { clock: driven, ledger: changed<Ledger>(memoryLedger({ clock: driven }), broken) }
        },
      })
    }, caughtBy)
    expect(failed).toHaveLength(1)
  })

  it.each(SPILLS)('B7: catch a spill that %s', async (_, caughtBy, broken) => {
    const failed = await failing(test => {
      spillConformance({
        test,
        declares: { durable: false },
        setup: async () => ({ clock: new FakeClock(), spill: changed<Spill>(memorySpill(), broken) }),
      })
    }, caughtBy)
    expect(failed).toHaveLength(1)
  })

  it.each(SINKS)('E17: catch a sink that %s', async (_, caughtBy, broken) => {
    const failed = await failing(test => {
      sinkConformance({
        test,
        declares: { setFailing: false, hang: false, refuse: false },
        setup: async () => {
          const memory = memorySink()
          const received = async () => memory.events.map(event => event.id)
          return { clock: new FakeClock(), sink: changed<Sink>(memory, broken), received }
        },
      })
    }, caughtBy)
    expect(failed).toHaveLength(1)
  })
})

async function takeAll(spill: Spill): Promise<readonly DeadLetter[]> {
  const taken = recordingDeadLetters()
  await spill.drain(taken)
  return taken.all
}
