import type { DeadLetter, Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { advance, IDLE, notBefore, type Rate, rate } from '../core/limit/gcra.ts'
import { publishIn } from '../ports/following.ts'
import type { Observer } from '../ports/observer.ts'
import type { Replay, ReplayCounts, ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import type { Tracing } from '../ports/tracing.ts'
import { observe } from '../runtime/observe.ts'
import { sleep } from '../runtime/sleep.ts'
import { changeReplay } from './control.ts'
import { ReplayRefusedError } from './errors.ts'
import { Forgiven } from './forgiven.ts'
import { Lease, RENEW_MS } from './lease.ts'
import { gatherOutcomes, tellEnded } from './outcomes.ts'
import { judge, type Surroundings } from './plan.ts'
import { replayEvent } from './resend.ts'
import { haltReason, stageEnds } from './stages.ts'
import { giveBackUnsent } from './unsent.ts'

/** Letters per round at most (K8); between rounds the runner looks at what it was told and what became of the rest. */
const BATCH = 50
const LOOK_EVERY_MS = 200
/** A sick downstream is asked again after so long: live traffic has priority. */
const DOWNSTREAM_REST_MS = 1_000
/** Of letters that nobody's broker kept, such as those of a wrapped handler. */
const UNKNOWN_BROKER = 'unknown'

/** Where replayed events go. */
export interface ReplayTarget {
  /** Resolves when the events, all of letters of this origin, are durably handed on. Handing on an event that is still on its way must change nothing. */
  send(events: readonly LazaretEvent[], origin: Origin): Promise<void>
}

export interface RunOptions {
  readonly target: ReplayTarget
  readonly around: Surroundings
  /** Names this runner in the audit. A replay has one run at a time, whatever they are called. */
  readonly owner: string
  /** Ends the run at the next safe point; the replay stays as it is and can be taken up by another runner. */
  readonly signal?: AbortSignal | undefined
  /** Is told `replaySent` and `replayItemEnded`. */
  readonly observer?: Observer | undefined
  /** Gives each replayed event a trace of its own, which leads back to that of its first life [none]. */
  readonly tracing?: Tracing | undefined
  readonly onProgress?: ((replay: Replay, counts: ReplayCounts) => void) | undefined
}

/**
 * Runs a started replay until it is finished, halted, paused or cancelled, and answers what it then is. It may be killed
 * at any point: whoever runs it next finds out from the letters what was sent and what became of it. One that was away
 * for so long that another has taken over ends as well, and the replay it answers is still running.
 */
export async function runReplay(store: Store, id: string, options: RunOptions): Promise<Replay> {
  return new Runner(store, id, options).run()
}

class Runner {
  readonly #store: Store
  readonly #id: string
  readonly #options: RunOptions
  readonly #lease: Lease
  readonly #forgiven: Forgiven
  /** What a runner before this one wrote down as sent, and may not have sent. */
  #mayBeLost: ReplayItem[] = []
  #tat = IDLE

  constructor(store: Store, id: string, options: RunOptions) {
    this.#store = store
    this.#id = id
    this.#options = options
    this.#lease = new Lease(store, id, options.owner, options.around)
    this.#forgiven = new Forgiven(store.replays)
  }

  async run(): Promise<Replay> {
    const { replays } = this.#store
    if (!(await this.#lease.take()))
      throw new ReplayRefusedError(this.#id, 'is being run by another process; look at it with replay show')
    try {
      let replay = await this.#replay()
      if (replay.state === 'running')
        this.#mayBeLost = [...(await replays.items(this.#id, { status: 'sent' }))]
      while (replay.state === 'running' && !this.#options.signal?.aborted && (await this.#lease.keep())) {
        await this.#round(replay)
        replay = await this.#replay()
      }
      // Whoever cancelled it may have looked before the last letter was put back.
      if (replay.state === 'cancelled')
        await giveBackUnsent(this.#store, this.#id, this.#options.around.clock)
      return replay
    } finally {
      await this.#lease.letGo()
    }
  }

  /** One look at what is known, then the next few letters, if the stage has any left. */
  async #round(replay: Replay): Promise<void> {
    await gatherOutcomes(this.#store, this.#id, this.#options.around.clock, this.#options.observer)
    // Before the counts, so that they have at least what is forgiven.
    const forgiven = await this.#forgiven.of(replay)
    const counts = await this.#store.replays.counts(this.#id)
    this.#options.onProgress?.(replay, counts)
    const halted = haltReason(replay.halt, counts, forgiven)
    if (halted !== undefined) {
      await this.#become(replay, { state: 'halted', why: halted })
      return
    }
    if (counts.waiting === 0 && counts.sent === 0) {
      await this.#become(replay, { state: 'finished', why: undefined })
      return
    }
    const toSend = replay.count - counts.skipped - counts.lost
    const ends = stageEnds(replay.stages, toSend)
    const sentSoFar = toSend - counts.waiting
    const stageEnd = ends[replay.stage] ?? toSend
    if (this.#mayBeLost.length > 0) await this.#sendAgain(replay)
    else if (sentSoFar < stageEnd) await this.#send(replay, Math.min(BATCH, stageEnd - sentSoFar))
    else if (counts.sent === 0) await this.#become(replay, { stage: replay.stage + 1 })
    else await this.#pause(LOOK_EVERY_MS)
  }

  async #send(replay: Replay, room: number): Promise<void> {
    const { replays, deadLetters } = this.#store
    const { around } = this.#options
    const items = await replays.items(this.#id, { status: 'waiting', limit: room })
    for (const item of items) {
      if (!(await this.#turn(replay))) return
      // Looked at after the wait: what is sent is what the letter is now.
      const now = around.clock.now()
      const letter = await deadLetters.get(item.letterId)
      if (letter === undefined) {
        await replays.record(this.#id, [{ ...item, status: 'lost', endedAt: now }])
        continue
      }
      // Changed by a runner that died before it could write down that it sent it.
      const isOurs = letter.state === 'replaying' && letter.replayId === replay.id
      const verdict = isOurs ? undefined : await judge(letter, replay, around, now)
      if (verdict?.decision === 'skip_downstream') {
        await this.#pause(DOWNSTREAM_REST_MS)
        return
      }
      if (verdict !== undefined && verdict.decision !== 'replay') {
        await replays.record(this.#id, [{ ...item, ...verdict, status: 'skipped', endedAt: now }])
        tellEnded(this.#options.observer ?? {}, this.#id, 'skipped', letter)
        continue
      }
      const claimed = isOurs ? letter : await this.#claim(letter, replay)
      if (claimed !== undefined) await this.#sendOne(claimed, replay, item)
    }
  }

  /** The letter is ours once it is `replaying`; undefined when someone else changed it first. */
  async #claim(letter: DeadLetter, replay: Replay): Promise<DeadLetter | undefined> {
    const change = { to: 'replaying', from: letter.state, replayId: replay.id } as const
    return this.#store.deadLetters.change(letter.id, { ...change, at: this.#options.around.clock.now() })
  }

  /**
   * Written down as sent before it is sent: a crash between the two sends it again, never not at all. When sending
   * fails it stays written down: it may have arrived all the same, and the next runner sends it again.
   */
  async #sendOne(letter: DeadLetter, replay: Replay, item: ReplayItem): Promise<void> {
    const { replays } = this.#store
    const sentAt = this.#options.around.clock.now()
    const cycle = letter.replays
    await replays.record(this.#id, [{ ...item, status: 'sent', cycle, sentAt }])
    // Asked once more: who cancels from now on sees that it is sent, and leaves the letter alone.
    if (await this.#mayGoOn()) await this.#handOn(letter, replay, cycle)
    else if (!this.#lease.isLost) await replays.record(this.#id, [item])
  }

  async #handOn(letter: DeadLetter, replay: Replay, cycle: number): Promise<void> {
    this.#tat = advance(paceOf(replay), this.#tat, this.#options.around.clock.now())
    const { target, tracing, observer = {} } = this.#options
    const events = [replayEvent(letter, replay, cycle)]
    const send = (followed: readonly LazaretEvent[]) => target.send(followed, letter.origin)
    if (tracing === undefined) await send(events)
    else await publishIn(tracing, letter.origin.broker ?? UNKNOWN_BROKER, events, send)
    if (observer.replaySent) {
      const { id: letterId, channel } = letter
      observe(observer, 'replaySent', { channel, letterId, replayId: replay.id })
    }
  }

  /** A round's worth of it, so that what has become of the others is looked at meanwhile. */
  async #sendAgain(replay: Replay): Promise<void> {
    for (let sent = 0; sent < BATCH && this.#mayBeLost.length > 0; sent++) {
      if (!(await this.#turn(replay))) return
      const { letterId } = this.#mayBeLost.shift()!
      const letter = await this.#store.deadLetters.get(letterId)
      if (letter?.state === 'replaying' && letter.replayId === replay.id)
        await this.#handOn(letter, replay, letter.replays)
    }
  }

  /** Waits until the next letter may go; false when none may any more. */
  async #turn(replay: Replay): Promise<boolean> {
    while (await this.#mayGoOn()) {
      const now = this.#options.around.clock.now()
      const at = notBefore(paceOf(replay), this.#tat, now)
      if (at <= now) return true
      await this.#pause(Math.min(at - now, RENEW_MS))
    }
    return false
  }

  /** Asked before every letter, so that a slow replay can be stopped between two of them. */
  async #mayGoOn(): Promise<boolean> {
    if (this.#options.signal?.aborted || !(await this.#lease.keep())) return false
    return (await this.#replay()).state === 'running'
  }

  /** Nobody else changes a running replay but to stop it, and that wins. */
  async #become(replay: Replay, changes: Partial<Replay>): Promise<void> {
    const { clock } = this.#options.around
    const isOver = changes.state === 'finished'
    let isMade = false
    await changeReplay(this.#store, this.#id, current => {
      isMade = current.state === 'running' && current.stage === replay.stage
      return isMade ? { ...changes, ...(isOver ? { endedAt: clock.now() } : {}) } : undefined
    })
    if (!isMade || changes.state === undefined) return
    await this.#store.audit.append({
      at: clock.now(),
      by: this.#options.owner,
      action: `replay.${changes.state}`,
      target: this.#id,
      ...(changes.why === undefined ? {} : { detail: { why: changes.why } }),
    })
  }

  async #replay(): Promise<Replay> {
    const replay = await this.#store.replays.get(this.#id)
    if (replay === undefined) throw new ReplayRefusedError(this.#id, 'there is none with this id')
    return replay
  }

  /** An abort ends the wait; the loop sees the signal. */
  async #pause(ms: number): Promise<void> {
    await sleep(this.#options.around.clock, ms, this.#options.signal).catch(() => {})
  }
}

function paceOf({ perSecond }: Replay): Rate {
  return rate({ perSecond, burst: 1 })
}
