import { memoryAudit } from '../src/adapters/memory/operating/audit.ts'
import { applyRetention } from '../src/operations/retention.ts'
import { startSchedule } from '../src/operations/schedule.ts'
import type { DeadLetterStore } from '../src/ports/dead-letters.ts'
import type { Store } from '../src/ports/store.ts'
import { nameOf } from './names.ts'
import type { World } from './world.ts'

/** Every 15 seconds: more often than the options allow, because a world lasts minutes. */
const CRON = '*/15 * * * * *'

/** Starts the cleanup that housekeeping runs, in worlds with a retention time. The returned function stops it. */
export function startCleanup(world: World): () => Promise<void> {
  const { retentionMs } = world.plan.extras
  if (retentionMs === undefined) return async () => {}
  const store = { deadLetters: watched(world), audit: memoryAudit() } as Partial<Store> as Store
  const error = (reason: unknown) =>
    world.history.record({ what: 'unexpectedError', consumer: 'cleanup', handler: '', error: String(reason) })
  const options = { clock: world.clock, onError: error, turn: { ledger: undefined, what: 'cleanup' } }
  const cleanup = startSchedule(
    CRON,
    options,
    async signal =>
      void (await applyRetention(store, { retentionMs, expireUndecidedAfterMs: 'never' }, world.clock.now(), {
        signal,
      })),
  )
  return () => cleanup.close()
}

/** The store of the world, which records every deleted letter. */
function watched({ store, history }: World): DeadLetterStore {
  return {
    send: letter => store.send(letter),
    list: query => store.list(query),
    get: id => store.get(id),
    change: (id, change) => store.change(id, change),
    stats: filter => store.stats(filter),
    timeline: (filter, span) => store.timeline(filter, span),
    close: async () => {},
    delete: (id, seen) => store.delete(id, seen),
    versions: filter => store.versions(filter),
    deleteMany: async seen => {
      // All calls read the store in the same tick, so nothing happens between them.
      const reading = Promise.all(seen.map(({ id }) => store.get(id)))
      const [letters, gone] = await Promise.all([reading, store.deleteMany(seen)])
      for (const letter of letters) {
        if (letter === undefined || !gone.includes(letter.id)) continue
        const { id, event, handler, state } = letter
        history.record({ what: 'deleted', letter: id, event: nameOf(event), handler, state })
      }
      return gone
    },
  }
}
