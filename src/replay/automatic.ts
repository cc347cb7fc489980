import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import { type Schedule, startSchedule } from '../operations/schedule.ts'
import type { Replay, ReplayState } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { startReplay } from './control.ts'
import { ReplayRefusedError } from './errors.ts'
import { planUnlessEmpty } from './plan.ts'
import { MAX_JUDGED, PlanJudge } from './plan-judge.ts'
import { type PlanRequest, resolvePlan } from './plan-options.ts'
import { type RunOptions, runReplay } from './runner.ts'
import { withRoutes } from './target.ts'

/**
 * Replays on a schedule. Off unless asked for: a person should see what failed before it is sent again. It takes only letters
 * with `autoReplay: true`.
 */
export interface AutomaticReplaySettings extends Omit<RunOptions, 'signal' | 'onProgress'> {
  /** The store with the dead letters to replay. */
  readonly store: Store
  /** Five fields, in UTC: `0 2 * * *` is two in the morning. */
  readonly cron: string
  /** The most letters of one run. */
  readonly batchSize: number
  /** The schedule replays letters up to this age, in ms. People decide about older ones. */
  readonly maxAgeMs: number
  /** A person approves each plan; it is started at the next turn after that, unless someone starts it before [false]. */
  readonly needsApproval?: boolean | undefined
  /** Receives each replay when its run has ended [none]. */
  readonly onRun?: ((replay: Replay) => void) | undefined
  /** Receives errors of a run [none]. The schedule goes on with the next turn. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const PAGE = 500
const ACTOR = 'automatic replay'

/** Starts the schedule. */
export function replayAutomatically(options: AutomaticReplaySettings): Schedule {
  const { cron, store, environment, onError } = options
  const turn = { ledger: store.ledger, what: ACTOR }
  return startSchedule(cron, { clock: environment.clock, onError, turn }, signal =>
    replayOnce(options, signal),
  )
}

async function replayOnce(options: AutomaticReplaySettings, signal: AbortSignal): Promise<void> {
  const { store, environment, onRun } = options
  // A process that died during its turn left its replay running. Its letters must not be planned once more.
  const [left] = await ownPlans(store, 'running')
  const id = left?.id ?? (await idToStart(options, signal))
  if (id === undefined || signal.aborted) return
  try {
    if (left === undefined) await startReplay(store, id, { by: ACTOR, clock: environment.clock })
    const ended = await runReplay(store, id, { ...options, signal })
    onRun?.(ended)
  } catch (error) {
    // The search for replays without a runner came first, which is fine.
    if (!(error instanceof ReplayRefusedError)) throw error
  }
}

/** A plan that may be started; undefined when there is nothing to send, or a person has to approve it first. */
async function idToStart(options: AutomaticReplaySettings, signal: AbortSignal): Promise<string | undefined> {
  const { store, maxAgeMs, needsApproval = false, target } = options
  // One at a time: the next turn would plan the same letters once more. Also after a process died before it started its plan.
  const [approved] = await ownPlans(store, 'approved')
  if (approved !== undefined) return approved.id
  if (needsApproval && (await ownPlans(store, 'planned')).length > 0) return undefined
  const environment = withRoutes(options.environment, target)
  const request = { reason: `every ${options.cron}`, by: ACTOR, maxAgeMs, needsApproval, isAutomatic: true }
  const ids = await lettersToSend({ ...options, environment }, request, signal)
  if (ids.length === 0 || signal.aborted) return undefined
  // Someone may have replayed or discarded these letters in the meantime.
  const plan = await planUnlessEmpty(store, { ...request, ids }, environment)
  return needsApproval ? undefined : plan?.id
}

async function ownPlans({ replays }: Store, state: ReplayState): Promise<readonly Replay[]> {
  return (await replays.list({ state })).filter(({ createdBy }) => createdBy === ACTOR)
}

/** The newest letters that may be sent: letters that a gate refuses do not count, in any number. */
async function lettersToSend(
  { store, environment, batchSize, maxAgeMs }: AutomaticReplaySettings,
  request: PlanRequest,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const asked = resolvePlan(request)
  const now = environment.clock.now()
  const judge = new PlanJudge(store, asked, environment, now)
  const atOnce = Math.min(batchSize, MAX_JUDGED)
  const ids: string[] = []
  for await (const page of letterPages(store.deadLetters, { state: 'dead', after: now - maxAgeMs }, PAGE))
    for (let at = 0; at < page.length; at += atOnce) {
      if (ids.length >= batchSize || signal.aborted) return ids.slice(0, batchSize)
      const letters = page.slice(at, at + atOnce)
      const verdicts = await judge.judge(letters)
      ids.push(...letters.filter((_, n) => verdicts[n]!.decision === 'replay').map(({ id }) => id))
    }
  return ids.slice(0, batchSize)
}
