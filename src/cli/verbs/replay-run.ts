import { hostname } from 'node:os'
import { createIdSource } from '../../core/event/uuid.ts'
import type { Replay, ReplayCounts } from '../../ports/replays.ts'
import { approveReplay, cancelReplay, pauseReplay, resumeReplay, startReplay } from '../../replay/control.ts'
import { runReplay } from '../../replay/runner.ts'
import type { ReplayTarget } from '../../replay/target.ts'
import { unconfirmedItems } from '../../runtime/fleet/open-delivery.ts'
import { commandLine } from '../command-line.ts'
import { findReplay } from '../find-by-id.ts'
import type { controlFlags, runFlags } from '../flags.ts'
import type { ExitCode, Io } from '../io.ts'
import { counted } from '../print/fields.ts'
import { Progress } from '../print/progress.ts'
import { confirm, onStore, type Session } from '../session.ts'
import { openRoutes, replayEnvironment, showReplay } from './replay-plan.ts'

/** A replay of more letters asks for confirmation. */
const LARGE_REPLAY = 100
const TIMEOUT_MS = 5_000

export const replayStart = runInForeground(startReplay)
export const replayResume = runInForeground(resumeReplay)

function runInForeground(begin: typeof startReplay) {
  return onStore<typeof runFlags>(async (session, { io, args, flags }) => {
    const { store, by } = session
    const replay = await findReplay(store, args[0]!)
    const routes = await openRoutes(session)
    try {
      const target = routes.target()
      const { waiting } = await store.replays.counts(replay.id)
      if (waiting > LARGE_REPLAY && !(await confirm(io, question(replay, waiting), flags.yes))) {
        await io.stderr.write('nothing was sent\n')
        return 1
      }
      // Before the state changes: from now on Ctrl-C must pause the replay instead of killing the process.
      const { interrupted } = io
      // A replay in the state running either lost its runner, or the lease refuses this one.
      if (replay.state !== 'running')
        await begin(store, replay.id, { by, reason: flags.note, clock: io.clock })
      const ended = await runToEnd(session, target, replay)
      await showReplay(session, ended, flags.json)
      const counts = await store.replays.counts(replay.id)
      if (interrupted.aborted && ended.state === 'paused') await io.stderr.write(resumeText(ended, flags))
      else if (failedAgain(counts) > 0) await io.stderr.write(failedText(ended, counts, flags))
      return exitCode(ended, counts)
    } finally {
      await routes.close()
    }
  })
}

/** What a person needs after Ctrl-C: that nothing is lost, and the command that continues. */
function resumeText({ id }: Replay, flags: Parameters<typeof commandLine>[2]): string {
  return `interrupted: the sent letters are recorded, and the others wait; resume with: ${commandLine('replay resume', id, flags)}\n`
}

/** A replay sends each letter once, so the letters that failed again need another plan. */
function failedText({ id, state }: Replay, counts: ReplayCounts, flags: Parameters<typeof commandLine>[2]) {
  const failed = `${counted(failedAgain(counts), 'letter')} failed again and will not be sent again by this replay; fix the cause, then plan another: lazaret replay plan\n`
  if (state !== 'halted' || counts.waiting === 0) return failed
  return `${failed}${counted(counts.waiting, 'letter')} not sent yet; send them with: ${commandLine('replay resume', id, flags)}\n`
}

function question({ stages, perSecond, reason }: Replay, waiting: number): string {
  return `Replay ${waiting} letters (${reason}) in stages of ${stages.join(', ')} at ${perSecond} per second?`
}

async function runToEnd(
  { io, store, config, masks, by }: Session,
  target: ReplayTarget,
  { id, count }: Replay,
): Promise<Replay> {
  const progress = new Progress(io, count)
  const stallWarning = new StallWarning(io, Object.keys(config.collectors ?? {}).length > 0)
  const signal = io.interrupted
  const owner = `${by}@${hostname()} ${createIdSource(io.random)(io.clock.now()).slice(-12)}`
  try {
    const ended = await runReplay(store, id, {
      target,
      environment: replayEnvironment(io, store),
      owner,
      masks,
      signal,
      onProgress: (replay, counts) => {
        void progress.show(endedCount(counts), progressNote(replay, counts)).catch(() => {})
        void stallWarning.check(counts).catch(() => {})
      },
    })
    if (!signal.aborted || ended.state !== 'running') return ended
    return await pauseReplay(store, id, { by, reason: 'interrupted', clock: io.clock })
  } finally {
    await progress.clear()
  }
}

/**
 * Warns once when letters were sent and no outcome arrives: most likely no consumer runs. Collected letters have none before
 * the server sees that they do not come back.
 */
class StallWarning {
  readonly #io: Io
  readonly #hasCollectors: boolean
  #endedCount = -1
  #since = 0
  #isShown = false

  constructor(io: Io, hasCollectors: boolean) {
    this.#io = io
    this.#hasCollectors = hasCollectors
  }

  async check(counts: ReplayCounts): Promise<void> {
    const now = this.#io.clock.now()
    if (endedCount(counts) !== this.#endedCount || counts.sent === 0) {
      this.#endedCount = endedCount(counts)
      this.#since = now
    }
    if (this.#isShown || now - this.#since < TIMEOUT_MS) return
    this.#isShown = true
    const collected = this.#hasCollectors
      ? "; collected letters count as handled after handledAfter [1m], while 'lazaret serve' runs"
      : ''
    await this.#io.stderr.write(
      `\nno outcome within ${TIMEOUT_MS / 1_000} s for ${counted(counts.sent, 'sent letter')}; check that a consumer of the channel is running${collected}\n`,
    )
  }
}

function endedCount(counts: ReplayCounts): number {
  return counts.recovered + failedAgain(counts) + counts.skipped + counts.lost
}

function failedAgain(counts: ReplayCounts): number {
  return counts.failed_same_cause + counts.failed_new_cause
}

function progressNote({ stage, stages }: Replay, counts: ReplayCounts): string {
  const again = failedAgain(counts)
  const failures = again === 0 ? '' : `, ${again} failed again`
  return `stage ${Math.min(stage + 1, stages.length)} of ${stages.length} · ${counts.recovered} recovered${failures}`
}

/** 0 when the replay finished and all sent letters recovered. */
function exitCode({ state }: Replay, counts: ReplayCounts): ExitCode {
  if (state === 'finished' && failedAgain(counts) === 0 && counts.lost === 0) return 0
  return counts.recovered === 0 && state !== 'paused' ? 1 : 3
}

export const replayApprove = controlCommand(approveReplay)
export const replayPause = controlCommand(pauseReplay)
export const replayCancel = controlCommand(cancelReplay, tellOfLettersUnderWay)

function controlCommand(
  control: typeof approveReplay,
  tellMore?: (session: Session, id: string, place: Parameters<typeof commandLine>[2]) => Promise<void>,
) {
  return onStore<typeof controlFlags>(async (session, { io, args, flags }) => {
    const { store, by } = session
    const { id } = await findReplay(store, args[0]!)
    await showReplay(
      session,
      await control(store, id, { by, reason: flags.note, clock: io.clock }),
      flags.json,
    )
    await tellMore?.(session, id, { store: flags.store, config: flags.config })
  })
}

/** Without a server only a look at the replay returns these letters. */
async function tellOfLettersUnderWay(
  { io, store }: Session,
  id: string,
  place: Parameters<typeof commandLine>[2],
): Promise<void> {
  const { underWay } = await unconfirmedItems(store, id, io.clock.now())
  if (underWay.length === 0) return
  const letters = counted(underWay.length, 'letter')
  await io.stderr.write(
    `a process may still be sending ${letters}; in a minute, see what became of ${underWay.length === 1 ? 'it' : 'them'}: ${commandLine('replay show', id, place)}\n`,
  )
}
