import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createIdSource } from '../../core/event/uuid.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { PatchOperation } from '../../ports/replays.ts'
import { planReplay } from '../../replay/plan.ts'
import type { ReplayEnvironment } from '../../replay/target.ts'
import type { Context } from '../command.ts'
import { findLetter } from '../find.ts'
import { filterOf } from '../flags/letters.ts'
import type { planFlags } from '../flags/replay.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { jsonLine, outside } from '../print/json.ts'
import { replayStory } from '../print/replay-story.ts'
import { paintFor } from '../print/style.ts'
import { openRoutes } from '../replay-target.ts'
import { withStore } from '../session.ts'

export async function replayPlan({ io, args, flags }: Context<typeof planFlags>): Promise<ExitCode> {
  const { reason } = flags
  if (reason === undefined)
    throw new UsageError(
      'replay plan: needs --reason TEXT: why are they sent again? (--letter-reason filters)',
    )
  // The filter's reason is why a letter died; this command's is why it lives again.
  const filter = filterOf({ ...flags, reason: flags['letter-reason'] })
  if (args.length > 0 && Object.keys(filter).length > 0)
    throw new UsageError('replay plan: give ids or filters, not both')
  const patch = flags.patch === undefined ? undefined : await readPatch(io, flags.patch)
  return withStore(io, flags, async session => {
    const { store, config, masks, by } = session
    const ids =
      args.length === 0
        ? undefined
        : await Promise.all(args.map(async typed => (await findLetter(store, typed)).id))
    const { stages, perSecond, haltRefailRatio, maxAge, needsApproval } = config.replay
    const routes = await openRoutes(session)
    const replay = await planReplay(
      store,
      {
        ...(ids === undefined ? { filter } : { ids }),
        reason,
        by,
        patch,
        to: flags.to,
        stages: flags.stages ?? stages,
        perSecond: flags['per-second'] ?? perSecond,
        haltRefailRatio: flags['halt-refail-ratio'] ?? haltRefailRatio,
        haltOnSameFingerprint: flags['go-on-with-same-cause'] ? false : undefined,
        maxAgeMs: flags['max-age'] ?? maxAge,
        allowQuarantined: flags['allow-quarantined'],
        needsApproval: flags['needs-approval'] ?? needsApproval,
      },
      { ...replayEnvironment(io), wayBack: routes.wayBack },
    ).finally(() => routes.close())
    if (flags.json) {
      await io.stdout.write(jsonLine(outside(replay)))
      return 0
    }
    const why = await store.replays.items(replay.id, { status: 'skipped', limit: 1_000 })
    await io.stdout.write(
      replayStory(replay, undefined, why, { masks, now: io.clock.now(), paint: paintFor(io.stdout, io.env) }),
    )
    const where = flags.store === undefined ? '' : ` --store ${withoutCredentials(flags.store)}`
    const next = replay.needsApproval
      ? `have it approved: lazaret replay approve ${replay.id}${where}`
      : `start it: lazaret replay start ${replay.id}${where}`
    await io.stderr.write(`${(replay.findings.replay ?? 0) === 0 ? 'nothing of it can be sent' : next}\n`)
    return 0
  })
}

export function replayEnvironment(io: Io): ReplayEnvironment {
  return { clock: io.clock, newId: createIdSource(io.random) }
}

async function readPatch(io: Io, named: string): Promise<readonly PatchOperation[]> {
  const text = await readFile(resolve(io.cwd, named), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new FailedError(`the patch ${named} cannot be read (${error.code}); give the path of a JSON file`)
  })
  try {
    return JSON.parse(text) as readonly PatchOperation[]
  } catch (error) {
    throw new UsageError(
      `the patch ${named} is no JSON (${(error as Error).message}); give an array of operations`,
    )
  }
}
