import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { changesNumbers } from '../../core/event/exact-numbers.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import { describeFilter } from '../../operations/filter-text.ts'
import { maskChecks, maskReplay } from '../../operations/mask-replay.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import type { PatchOperation, Replay, ReplayCounts } from '../../ports/replays.ts'
import { PlanCancelledError, type Store } from '../../ports/store.ts'
import { EmptyPlanError } from '../../replay/empty-plan.ts'
import { fleetGate } from '../../replay/fleet-gate.ts'
import { replayThroughFleet } from '../../replay/fleet-target.ts'
import { recordLateOutcomes } from '../../replay/outcomes.ts'
import { type PlanProgress, planReplay } from '../../replay/plan.ts'
import { replayToBroker, routeReplays } from '../../replay/routes.ts'
import { type ReplayEnvironment, type ReplayTarget, routeThrough } from '../../replay/target.ts'
import { createReasonMasker } from '../../server/views/item-reasons.ts'
import { openBrokers } from '../brokers.ts'
import { openCollectors } from '../collectors.ts'
import type { Context } from '../command.ts'
import { commandLine } from '../command-line.ts'
import { findLetter, findReplay } from '../find-by-id.ts'
import { filterOf, type planFlags, type replayListFlags, type storeFlags } from '../flags.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { checkLines } from '../print/format-checks.ts'
import { findingLines, formatReplay } from '../print/format-replay.ts'
import { jsonLine, toJson } from '../print/json.ts'
import { Progress } from '../print/progress.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor, stateColour } from '../print/style.ts'
import { ageColumn, type Column, tableOn } from '../print/table.ts'
import { onStore, type Session, withStore } from '../session.ts'

export async function replayPlan({ io, args, flags }: Context<typeof planFlags>): Promise<ExitCode> {
  const { reason } = flags
  if (reason === undefined)
    throw new UsageError(
      'replay plan: --reason is missing; give the reason for the replay (--letter-reason filters letters)',
    )
  // `--letter-reason` filters by the reason of a letter; `--reason` is the reason for the replay.
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
    // Another person approves a plan, so the next command does not repeat the name.
    const place = { store: flags.store, config: flags.config }
    const routes = await openRoutes(session)
    let line: Progress | undefined
    const onProgress = ({ checked, of }: PlanProgress) => {
      line ??= new Progress(io, of)
      return line.show(checked)
    }
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
        haltOnSameFingerprint: flags['no-halt-on-same-cause'] ? false : undefined,
        maxAgeMs: flags['max-age'] ?? maxAge,
        allowQuarantined: flags['allow-quarantined'],
        requireSchema: flags['require-schema'],
        needsApproval: flags['needs-approval'] ?? needsApproval,
      },
      { ...replayEnvironment(io, store), routeOf: routes.routeOf },
      { signal: io.interrupted, onProgress },
    )
      .catch(async (error: unknown) => {
        await line?.clear()
        if (error instanceof PlanCancelledError) return undefined
        if (!(error instanceof EmptyPlanError)) throw error
        throw new FailedError(await emptyPlanText(session, error, filter, patch))
      })
      .finally(() => routes.close())
    await line?.clear()
    if (replay === undefined) {
      await io.stderr.write('interrupted: nothing was planned\n')
      return 1
    }
    for (const { replayId, count } of replay.overlaps ?? [])
      await io.stderr.write(
        `warning: replay ${replayId} also has ${count} of these letters to send; a letter that fails there is then sent again by this one. Cancel one of the two: ${commandLine('replay cancel', replayId, place)}\n`,
      )
    if (flags.json) {
      await io.stdout.write(jsonLine(toJson(await maskReplay(store, replay, masks))))
      return 0
    }
    await io.stdout.write(await replayText(session, replay, undefined))
    const next = replay.needsApproval
      ? `next, another person approves it: ${commandLine('replay approve', replay.id, place)}`
      : `next, start it: ${commandLine('replay start', replay.id, place)}`
    await io.stderr.write(`${next}\n`)
    return 0
  })
}

async function emptyPlanText(
  { io, store, masks }: Session,
  error: EmptyPlanError,
  filter: LetterFilter,
  patch: readonly PatchOperation[] | undefined,
): Promise<string> {
  const { refusal, skipped, checks } = error
  if (skipped.length > 0) {
    const findings = await findingLines(error, skipped, createReasonMasker(masks, store, { patch }))
    const shown = await maskChecks(checks, async () => skipped, store, { patch }, masks)
    return `${refusal}\n${[...findings, ...checkLines(shown, io.clock.now())].join('')}`.trimEnd()
  }
  const isFiltered = Object.keys(filter).length > 0
  return `no letter ${isFiltered ? `matches ${describeFilter(filter)}` : 'waits for a replay'}; nothing was planned. Run 'lazaret dlq stats' to see the channels and states`
}

export function replayEnvironment(io: Io, { fleet }: Pick<Store, 'fleet'>): ReplayEnvironment {
  const downstreamFault = fleetGate(fleet === undefined ? [] : [fleet], io.clock)
  return { clock: io.clock, newId: createIdSource(io.random), downstreamFault }
}

async function readPatch(io: Io, named: string): Promise<readonly PatchOperation[]> {
  const text = await readFile(resolve(io.cwd, named), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new FailedError(`cannot read the patch ${named} (${error.code}); give the path of a JSON file`)
  })
  if (changesNumbers(text))
    throw new UsageError(
      `the patch ${named} has a number with more digits than a JSON number keeps; write it as a text`,
    )
  try {
    return JSON.parse(text) as readonly PatchOperation[]
  } catch (error) {
    throw new UsageError(
      `the patch ${named} is not valid JSON (${(error as Error).message}); give an array of operations`,
    )
  }
}

const DEFAULT_LISTED = 20
const MAX_SKIPPED_READ = 1_000

export const replayShow = onStore<typeof storeFlags>(async (session, { args, flags }) =>
  showReplay(session, await findReplay(session.store, args[0]!), flags.json),
)

export async function showReplay(
  session: Session,
  replay: Replay,
  asJson: boolean | undefined,
): Promise<void> {
  const { io, store, masks } = session
  await recordLateOutcomes(store, replay, io.clock)
  const counts = await store.replays.counts(replay.id)
  if (asJson) {
    const shown = toJson(await maskReplay(store, replay, masks)) as object
    await io.stdout.write(jsonLine({ ...shown, outcomes: counts }))
    return
  }
  await io.stdout.write(await replayText(session, replay, counts))
}

async function replayText(
  { io, store, masks }: Session,
  replay: Replay,
  counts: ReplayCounts | undefined,
): Promise<string> {
  const skipped = await store.replays.items(replay.id, { status: 'skipped', limit: MAX_SKIPPED_READ })
  const findings = await findingLines(replay, skipped, createReasonMasker(masks, store, replay))
  const options = { now: io.clock.now(), paint: paintFor(io.stdout, io.env) }
  return formatReplay(await maskReplay(store, replay, masks), counts, findings, options)
}

export const replayList = onStore<typeof replayListFlags>(async ({ store, masks }, { io, flags }) => {
  const replays = await store.replays.list({ state: flags.state, limit: flags.limit ?? DEFAULT_LISTED })
  if (flags.json) {
    const shown = await Promise.all(replays.map(replay => maskReplay(store, replay, masks)))
    return io.stdout.write(shown.map(replay => jsonLine(toJson(replay))).join(''))
  }
  if (replays.length === 0)
    return io.stderr.write("no replays found; create one with 'lazaret replay plan'\n")
  const columns: Column<Replay>[] = [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'STATE', cell: ({ state }) => state, colour: ({ state }) => stateColour(state) },
    { title: 'LETTERS', cell: ({ count }) => String(count) },
    ageColumn(io, 'PLANNED', ({ createdAt }) => createdAt),
    { title: 'BY', cell: ({ createdBy }) => safeText(createdBy), dropAt: 1, shrinksTo: 6 },
    { title: 'REASON', cell: ({ reason }) => safeText(reason), shrinksTo: 12 },
  ]
  return io.stdout.write(tableOn(io, columns).page(replays))
})

/** The replay targets of the command line: the broker of the store, and the brokers and collectors of the config. */
interface ReplayRoutes {
  /** Finds the route of a letter for a plan. */
  readonly routeOf: NonNullable<ReplayEnvironment['routeOf']>
  /** The target of a run. Throws when there is none. */
  target(): ReplayTarget
  close(): Promise<void>
}

export async function openRoutes({ io, store, config }: Session): Promise<ReplayRoutes> {
  const { broker, url } = store
  const brokers = await openBrokers(config, [store], io, () => {})
  const collectors = (await openCollectors(config, io, () => {})).map(({ collector }) => collector)
  const own = broker && replayToBroker(broker, undefined)
  const environment = replayEnvironment(io, store)
  const target = replayThroughFleet(store, routeReplays(collectors, own, brokers), environment)
  const nowhere = `${url} stores letters but cannot deliver events; replay them in the process of their consumer, or through another store: lazaret dlq export --store ${url} | lazaret dlq import --store sqlite:FILE, then plan there with --to CHANNEL`
  return {
    routeOf: (letter, to) =>
      target === undefined ? { kind: 'none', reason: nowhere } : routeThrough(target, letter, to),
    target() {
      if (target === undefined) throw new FailedError(nowhere)
      return target
    },
    async close() {
      for (const each of [...brokers, ...collectors]) await each.close()
    },
  }
}
