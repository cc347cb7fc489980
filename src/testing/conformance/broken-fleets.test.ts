import { describe, expect, it } from 'vitest'
import { changed, failing } from '../../../test/support/conformance.ts'
import { memoryStore } from '../../adapters/memory/index.ts'
import type { Command, Commands } from '../../ports/commands.ts'
import type { Fleet, Instance } from '../../ports/fleet.ts'
import type { Store } from '../../ports/store.ts'
import { FakeClock } from '../fake-clock.ts'
import { storeConformance } from './store.ts'

/** What is broken, the test that must see it, and how it is done. */
type Break<T> = readonly [what: string, caughtBy: string, broken: (whole: T) => Partial<T>]

const listedAs = (change: (instance: Instance) => Instance) => (whole: Fleet) => ({
  list: async () => (await whole.list()).map(change),
})

const FLEETS: readonly Break<Fleet>[] = [
  [
    'keeps the first report',
    'B17: a report is listed completely, and a later one replaces it',
    whole => ({
      report: async (report, leaseMs) => {
        const known = await whole.list()
        if (!known.some(each => each.report.id === report.id)) await whole.report(report, leaseMs)
      },
    }),
  ],
  [
    'believes that everybody is alive',
    'B17: a process without a report within its lease is gone, and alive after the next',
    listedAs(each => (each.state === 'gone' ? { ...each, state: 'alive' } : each)),
  ],
  [
    'believes reports from the future',
    'B17: a clock that is set back keeps no process alive for that long',
    listedAs(each => (each.silentMs === 0 ? { ...each, state: 'alive' } : each)),
  ],
  [
    'does not know who left',
    'B17: a process that leaves is shown as left at once, until it reports again',
    listedAs(each => (each.state === 'left' ? { ...each, state: 'alive' } : each)),
  ],
  [
    'lists in any order',
    'B17: processes are listed by service, start and id',
    whole => ({ list: async () => (await whole.list()).toReversed() }),
  ],
  [
    'purges the living',
    'B17: a purge deletes processes that are not alive, and returns their number',
    whole => ({
      purge: async before => {
        for (const { report } of await whole.list()) await whole.leave(report.id)
        return whole.purge(before)
      },
    }),
  ],
  [
    'forgets the last report when it refuses one',
    'B17: an invalid report is refused, and the last one stays',
    whole => ({
      report: async (report, leaseMs) => {
        try {
          await whole.report(report, leaseMs)
        } catch (error) {
          await whole.leave(report.id).catch(() => {})
          await whole.purge(Number.MAX_SAFE_INTEGER).catch(() => {})
          throw error
        }
      },
    }),
  ],
]

const COMMANDS: readonly Break<Commands>[] = [
  [
    'gives a command out twice',
    'B17: of many concurrent claims of a command exactly one gets it',
    whole => {
      const given: Command[] = []
      return {
        claim: async (instance, limit) => {
          given.push(...(await whole.claim(instance, limit)))
          return given.filter(({ recipients }) => recipients.includes(instance))
        },
      }
    },
  ],
  [
    'lets anybody finish a command',
    'B17: only the claimer finishes a command, and only once',
    whole => ({
      finish: async (id, instance, outcome) => {
        const record = (await whole.list(100)).find(({ command }) => command.id === id)
        return whole.finish(id, record?.claimedBy ?? instance, outcome)
      },
    }),
  ],
  [
    'states a time since the claim for a command that nobody claimed',
    'B18: the store states how long ago a command was claimed',
    whole => ({
      get: async request =>
        (await whole.get(request)).map(each => ({ ...each, claimedAgoMs: each.claimedAgoMs ?? 0 })),
    }),
  ],
  [
    'gives expired commands out',
    'B17: a command that nobody claims in time expires and is never executed',
    whole => ({ send: (commands, ttlMs) => whole.send(commands, ttlMs * 10) }),
  ],
  [
    'gives expired commands out once the clock is set',
    'B17: a command that has expired is not given out when the clock is set',
    whole => {
      const sent: Command[] = []
      return {
        send: async (commands, ttlMs) => {
          sent.push(...commands)
          await whole.send(commands, ttlMs)
        },
        claim: async instance => sent.filter(({ recipients }) => recipients.includes(instance)).slice(0, 1),
      }
    },
  ],
  [
    'shows an expired command as waiting once the clock is set',
    'B17: a command that was shown as over stays so when the clock comes round to its time again',
    whole => {
      let reads = 0
      return {
        get: async request => {
          const isFirst = reads++ === 0
          const records = await whole.get(request)
          return isFirst ? records : records.map(each => ({ ...each, state: 'waiting' as const }))
        },
      }
    },
  ],
  [
    'stops at an expired command',
    'B17: expired commands do not count towards the limit of a claim',
    whole => ({
      claim: async (instance, limit) =>
        (await whole.list(100)).some(({ state }) => state === 'expired') ? [] : whole.claim(instance, limit),
    }),
  ],
  [
    'takes the newest first',
    'B17: claims take the oldest first, up to the limit',
    whole => ({ claim: async (instance, limit) => (await whole.claim(instance, limit)).toReversed() }),
  ],
  [
    'sends the commands before the invalid one',
    'B17: sending again changes nothing, and an invalid command sends none',
    whole => ({
      send: async (commands, ttlMs) => {
        if (commands.length === 0) await whole.send([], ttlMs)
        for (const each of commands) await whole.send([each], ttlMs)
      },
    }),
  ],
  [
    'replaces a command that is sent again',
    'B17: sending again changes nothing, and an invalid command sends none',
    whole => {
      const last = new Map<string, Command>()
      return {
        send: async (commands, ttlMs) => {
          await whole.send(commands, ttlMs)
          for (const each of commands) last.set(each.id, each)
        },
        get: async request =>
          (await whole.get(request)).map(record => ({ ...record, command: last.get(record.command.id)! })),
      }
    },
  ],
  [
    'purges commands that wait',
    'B17: a purge deletes commands that are over, and returns their number',
    whole => ({
      purge: async before => {
        for (const { command } of await whole.list(100)) {
          await whole.claim(command.recipients[0]!, 100)
          await whole.finish(command.id, command.recipients[0]!, { ok: true })
        }
        return whole.purge(before)
      },
    }),
  ],
  [
    'wakes nobody',
    'B17: a listener is notified of commands for its instance',
    () => ({ onCommand: () => () => {} }),
  ],
]

function caught(caughtBy: string, broken: (store: Store) => Partial<Store>): Promise<readonly string[]> {
  return failing(test => {
    storeConformance({
      test,
      declares: { durable: false, fleet: true },
      setup: async () => {
        const driven = new FakeClock()
        return {
          clock: driven,
          timeoutMs: 200,
          store: changed<Store>(memoryStore({ clock: driven }), broken),
        }
      },
    })
  }, caughtBy)
}

describe('the suite of the fleet', () => {
  it.each(FLEETS)('B17: catches a fleet that %s', async (_, caughtBy, broken) => {
    const failed = await caught(caughtBy, ({ fleet }) => ({ fleet: changed<Fleet>(fleet!, broken) }))
    expect(failed).toHaveLength(1)
  })

  it.each(COMMANDS)('B17: catches commands that %s', async (_, caughtBy, broken) => {
    const failed = await caught(caughtBy, ({ commands }) => ({
      commands: changed<Commands>(commands!, broken),
    }))
    expect(failed).toHaveLength(1)
  })
})
