import { type ReplayEnvironment, type ReplayTarget, wayBackThrough } from '../replay/target.ts'
import { toBroker, waysBack } from '../replay/ways-back.ts'
import { openCollectors } from './collectors.ts'
import { FailedError } from './io.ts'
import type { Session } from './session.ts'

/** Where this command line can send letters: into the store's own broker, and back through the collectors of the config. */
interface ReplayRoutes {
  /** What a plan asks about each letter. */
  readonly wayBack: NonNullable<ReplayEnvironment['wayBack']>
  /** Where a run sends to; fails when nothing can be sent at all. */
  target(): ReplayTarget
  close(): Promise<void>
}

export async function openRoutes({ io, store: { broker, url }, config }: Session): Promise<ReplayRoutes> {
  const collectors = (await openCollectors(config, io, () => {})).map(({ collector }) => collector)
  const own = broker && toBroker(broker, undefined)
  const target = waysBack(collectors, own)
  const nowhere = `${url} keeps letters but is no broker to send them to; replay them where their consumer runs, or send them to a channel of another store: lazaret dlq export --store ${url} | lazaret dlq import --store sqlite:FILE, then plan there with --to CHANNEL`
  return {
    wayBack: (letter, to) =>
      target === undefined ? { kind: 'none', why: nowhere } : wayBackThrough(target, letter, to),
    target() {
      if (target === undefined) throw new FailedError(nowhere)
      return target
    },
    async close() {
      for (const collector of collectors) await collector.close()
    },
  }
}
