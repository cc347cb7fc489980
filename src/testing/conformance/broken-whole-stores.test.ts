import { describe, expect, it } from 'vitest'
import { changed, failing } from '../../../test/support/conformance.ts'
import { expiryEntry } from '../../adapter-kit/expiry.ts'
import { memoryDeadLetters, memoryStore } from '../../adapters/memory/index.ts'
import type { AuditLog } from '../../ports/audit.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Groups } from '../../ports/groups.ts'
import type { Replays } from '../../ports/replays.ts'
import type { Snapshots } from '../../ports/snapshots.ts'
import type { Store } from '../../ports/store.ts'
import { FakeClock } from '../fake-clock.ts'
import { storeConformance } from './store.ts'

/** What is broken, the test that must see it, and how it is done. */
type Break<T> = readonly [what: string, caughtBy: string, broken: (whole: T) => Partial<T>]

const WHOLE_STORES: readonly Break<Store>[] = [
  [
    'shows each page of groups the other way round',
    'F8: pages list every group once, last seen first, and filters select',
    ({ groups }) => ({
      groups: changed<Groups>(groups, whole => ({
        list: async query => {
          const page = await whole.list(query)
          return { ...page, groups: page.groups.toReversed() }
        },
      })),
    }),
  ],
  [
    'deletes letters and leaves their keys blocked',
    'B9: deleteMany of the letter of a dead-lettered event lets the later events of its key go on',
    () => ({ deadLetters: memoryDeadLetters() }),
  ],
  [
    'forgets notes',
    'F8: triage and notes are kept',
    ({ groups }) => ({
      groups: changed<Groups>(groups, whole => ({
        change: (id, { note: _, ...change }) => whole.change(id, change),
      })),
    }),
  ],
  [
    'takes any revision for the latest',
    'B11: of concurrent updates of one revision exactly one succeeds',
    ({ replays }) => ({
      replays: changed<Replays>(replays, whole => ({
        update: async replay => whole.update((await whole.get(replay.id)) ?? replay),
      })),
    }),
  ],
  [
    'records an item that another delivery has',
    'B18: a record for a delivery changes only the items that still name this delivery',
    ({ replays }) => ({
      replays: changed<Replays>(replays, whole => ({ record: (id, items) => whole.record(id, items) })),
    }),
  ],
  [
    'gives a replay to everybody',
    'B11: one runner at a time has the lease, until the lease expires or is released',
    ({ replays }) => ({ replays: changed<Replays>(replays, () => ({ lease: async () => true })) }),
  ],
  [
    'puts a replay in the place of another',
    'K8: a replay is created with all its items or not at all',
    ({ replays }) => ({
      replays: changed<Replays>(replays, whole => ({
        create: (replay, items) => whole.create(replay, items).catch(() => {}),
      })),
    }),
  ],
  [
    'reads the items of a new replay twice',
    'K8: a replay is created with all its items or not at all',
    ({ replays }) => ({
      replays: changed<Replays>(replays, whole => ({
        create: (replay, items) =>
          [...items].length === 0 ? Promise.resolve() : whole.create(replay, items),
      })),
    }),
  ],
  [
    'forgets the delivery of an item',
    'B18: an item keeps its delivery and the process that holds its event, until it is recorded without them',
    ({ replays }) => ({
      replays: changed<Replays>(replays, whole => ({
        record: (id, items) =>
          whole.record(
            id,
            items.map(({ delivery: _, ...item }) => item),
          ),
      })),
    }),
  ],
  [
    'forgets who holds the event of an item',
    'B18: an item keeps its delivery and the process that holds its event, until it is recorded without them',
    ({ replays }) => ({
      replays: changed<Replays>(replays, whole => ({
        record: (id, items) =>
          whole.record(
            id,
            items.map(({ heldBy: _, ...item }) => item),
          ),
      })),
    }),
  ],
  [
    'keeps the old fields of an item',
    'B18: an item keeps its delivery and the process that holds its event, until it is recorded without them',
    ({ replays }) => ({
      replays: changed<Replays>(replays, whole => ({
        record: async (id, items) => {
          const old = new Map((await whole.items(id)).map(item => [item.position, item]))
          await whole.record(
            id,
            items.map(item => ({ ...old.get(item.position), ...item })),
          )
        },
      })),
    }),
  ],
  [
    'tells what was done oldest first',
    'B13: audit entries are listed newest first',
    ({ audit }) => ({
      audit: changed<AuditLog>(audit, whole => ({
        list: async query => {
          const page = await whole.list(query)
          return { ...page, entries: page.entries.toReversed() }
        },
      })),
    }),
  ],
  [
    'tells of all people when asked for one',
    'B13: audit entries are listed newest first',
    ({ audit }) => ({
      audit: changed<AuditLog>(audit, whole => ({
        list: query => whole.list(query && { ...query, by: undefined }),
      })),
    }),
  ],
  [
    'lets every letter expire',
    'E13, K9: retention deletes only decided letters, and the audit log has one entry for it',
    ({ deadLetters, audit }) => ({
      deadLetters: changed<DeadLetterStore>(deadLetters, whole => ({
        expire: async now => {
          const { letters } = await whole.list({ before: now - 60_000 })
          for (const { id } of letters) await whole.delete(id)
          const byState = { resolved: 1, discarded: 1 }
          if (letters.length > 0) await audit.append(expiryEntry(now, byState))
          return byState
        },
      })),
    }),
  ],
  [
    'deletes by retention and tells nobody',
    'E13, K9: retention deletes only decided letters, and the audit log has one entry for it',
    ({ deadLetters }) => ({
      deadLetters: changed<DeadLetterStore>(deadLetters, whole => ({
        expire: async now => {
          for (const state of ['resolved', 'discarded'] as const)
            for (const { id } of (await whole.list({ state, before: now - 60_000 })).letters)
              await whole.delete(id)
          return {}
        },
      })),
    }),
  ],
  [
    'takes any number for a place in the audit log',
    'E9: every listing refuses a forged cursor with a remedy',
    ({ audit }) => ({
      audit: changed<AuditLog>(audit, whole => ({
        list: async query => {
          if (!/^\d+$/.test(query?.cursor ?? '')) return whole.list(query)
          const { entries } = await whole.list({ limit: 1_000 })
          return { entries: entries.slice(Number(query?.cursor)), cursor: undefined }
        },
      })),
    }),
  ],
  [
    'keeps the first snapshot of a moment',
    'K7: a channel has one snapshot for a time, the last one written',
    ({ snapshots }) => ({
      snapshots: changed<Snapshots>(snapshots, whole => ({
        append: async taken => {
          const known = (await whole.list({ perChannel: 10_000 })).map(({ channel, at }) => channel + at)
          await whole.append(taken.filter(({ channel, at }) => !known.includes(channel + at)))
        },
      })),
    }),
  ],
  [
    'shows the newest snapshots of all channels together',
    'K7: a list can be limited by channel, time and number per channel',
    ({ snapshots }) => ({
      snapshots: changed<Snapshots>(snapshots, whole => ({
        list: async query => (await whole.list(query)).slice(0, query?.perChannel ?? 10),
      })),
    }),
  ],
  [
    'purges a portion of the snapshots',
    'K7: a thousand channels, and thousands of snapshots of one, are listed and purged completely',
    ({ snapshots }) => ({
      snapshots: changed<Snapshots>(snapshots, whole => ({
        purge: async before => {
          const spared = (await whole.list({ before })).slice(2_000)
          const purged = await whole.purge(before)
          await whole.append(spared)
          return purged - spared.length
        },
      })),
    }),
  ],
  [
    'keeps names of channels as UTF-8',
    'K7: any text is a channel name and is found exactly',
    ({ snapshots }) => ({
      snapshots: changed<Snapshots>(snapshots, whole => ({
        append: taken => whole.append(taken.map(each => ({ ...each, channel: each.channel.toWellFormed() }))),
      })),
    }),
  ],
]

describe('the suite of whole stores', () => {
  it.each(WHOLE_STORES)('F8: catch a store that %s', async (_, caughtBy, broken) => {
    const failed = await failing(test => {
      storeConformance({
        test,
        declares: { durable: false },
        setup: async () => {
          const driven = new FakeClock()
          const store = changed<Store>(memoryStore({ clock: driven }), broken)
          return { clock: driven, store, timeoutMs: 200 }
        },
      })
    }, caughtBy)
    expect(failed).toHaveLength(1)
  })
})
