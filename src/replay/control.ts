import { withAudit } from '../adapter-kit/with-audit.ts'
import type { Clock } from '../ports/clock.ts'
import type { Replay, ReplayState } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { ReplayRefusedError } from './errors.ts'
import { returnUnsentLetters } from './unsent.ts'

/** The person who gives the command, the reason, and the clock. */
export interface ReplayCommand {
  readonly by: string
  readonly clock: Clock
  readonly reason?: string | undefined
}

type Verb = 'approve' | 'start' | 'pause' | 'resume' | 'cancel'

/** The states in which each command is allowed, and the state that follows. */
export const REPLAY_STEPS: Readonly<Record<Verb, { from: readonly ReplayState[]; to: ReplayState }>> = {
  approve: { from: ['planned'], to: 'approved' },
  start: { from: ['approved'], to: 'running' },
  pause: { from: ['running'], to: 'paused' },
  resume: { from: ['paused', 'halted'], to: 'running' },
  cancel: { from: ['planned', 'approved', 'running', 'paused', 'halted'], to: 'cancelled' },
}

/** Approves a plan. If the plan needs approval, the approver must be another person than its author. */
export function approveReplay(store: Store, id: string, command: ReplayCommand): Promise<Replay> {
  return changeState(store, id, 'approve', command, replay => {
    if (replay.createdBy === command.by)
      throw new ReplayRefusedError(id, `was planned by ${command.by}; another person must approve it`)
    return { approvedBy: command.by, approvedAt: command.clock.now() }
  })
}

/** Starts an approved replay, or one that needs no approval. `runReplay` then sends its letters. */
export function startReplay(store: Store, id: string, command: ReplayCommand): Promise<Replay> {
  return changeState(store, id, 'start', command, () => ({ startedAt: command.clock.now() }))
}

/** Pauses a running replay. Its runner stops at the next safe point. */
export function pauseReplay(store: Store, id: string, command: ReplayCommand): Promise<Replay> {
  return changeState(store, id, 'pause', command)
}

/** Resumes a paused or halted replay where it stopped. The halt rules count only letters that are sent from now on. */
export function resumeReplay(store: Store, id: string, command: ReplayCommand): Promise<Replay> {
  return changeState(store, id, 'resume', command, replay =>
    replay.state === 'halted' ? { resumedAt: command.clock.now() } : {},
  )
}

/** Sent letters stay sent; unsent letters stay dead or become dead again. */
export async function cancelReplay(store: Store, id: string, command: ReplayCommand): Promise<Replay> {
  const cancelled = await changeState(store, id, 'cancel', command, () => ({ endedAt: command.clock.now() }))
  await returnUnsentLetters(store, id, command.clock, 'someone else')
  return cancelled
}

async function changeState(
  store: Store,
  id: string,
  verb: Verb,
  { by, clock, reason }: ReplayCommand,
  extra: (replay: Replay) => Partial<Replay> = () => ({}),
): Promise<Replay> {
  const { from, to } = REPLAY_STEPS[verb]
  const change = (replay: Replay): Partial<Replay> => {
    if (!from.includes(replay.state)) throw new ReplayRefusedError(id, refusalOf(replay.state, verb))
    return { ...extra(replay), state: to, by, stateReason: reason }
  }
  // A refused request changes nothing, so it is not reported as a change.
  change(await requireReplay(store, id))
  const detail = reason === undefined ? {} : { detail: { reason } }
  const entry = { at: clock.now(), by, action: `replay.${verb}`, target: id, ...detail }
  return await withAudit(store.audit, entry, () => changeReplay(store, id, change))
}

const PARTICIPLES: Readonly<Record<Verb, string>> = {
  approve: 'approved',
  start: 'started',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancelled',
}

function refusalOf(state: ReplayState, verb: Verb): string {
  const hasEnded = state === 'finished' || state === 'cancelled'
  const remedy =
    hasEnded && (verb === 'start' || verb === 'resume')
      ? "make a new plan with 'lazaret replay plan'"
      : `only ${REPLAY_STEPS[verb].from.join(' or ')} replays can`
  return `is ${state} and cannot be ${PARTICIPLES[verb]}; ${remedy}`
}

/** Repeats read, change and write until the revision matches, because others may change the replay at the same time. */
export async function changeReplay(
  store: Store,
  id: string,
  change: (replay: Replay) => Partial<Replay> | undefined,
): Promise<Replay> {
  for (;;) {
    const replay = await requireReplay(store, id)
    const changes = change(replay)
    if (changes === undefined) return replay
    // A problem of sending ends with the state in which it was found.
    const ended = changes.state === undefined ? {} : { problem: undefined }
    const updated = await store.replays.update({ ...replay, ...ended, ...changes })
    if (updated !== undefined) return updated
  }
}

export async function requireReplay(store: Pick<Store, 'replays'>, id: string): Promise<Replay> {
  const replay = await store.replays.get(id)
  if (replay !== undefined) return replay
  throw new ReplayRefusedError(id, 'was not found; list replays with `lazaret replay list`')
}
