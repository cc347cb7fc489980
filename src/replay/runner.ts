import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { advance, IDLE, notBefore, rate } from '../core/limit/gcra.ts'
import type { Replay, ReplayCounts, ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { sleep } from '../runtime/sleep.ts'
import { changeReplay } from './control.ts'
import { ReplayRefusedError } from './errors.ts'
import { endedItems } from './outcomes.ts'
import { judge, type Surroundings } from './plan.ts'
import { replayEvent } from './resend.ts'
import { haltReason, stageEnds } from './stages.ts'

/** Letters per round at most (K8); between rounds the runner looks at what it was told and what became of the rest. */
const BATCH = 50
const LOOK_AT_MOST = 500
const LEASE_MS = 30_000
const LOOK_EVERY_MS = 200
/** A sick downstream is asked again after so long: live traffic has priority. */
const DOWNSTREAM_REST_MS = 1_000

/** Where replayed events go. */
export interface ReplayTarget {
  /** Resolves when the events are durably handed on. Handing on an event that is still on its way must change nothing. */
  send(events: readonly LazaretEvent[]): Promise<void>
}

export interface RunOptions {
  readonly target: ReplayTarget
  readonly around: Surroundings
  /** Names this runner: one of them has a replay at a time. */
  readonly owner: string
  /** Ends the run at the next safe point; the replay stays as it is and can be taken up by another runner. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((replay: Replay, counts: ReplayCounts) => void) | undefined
}

/**
 * Runs a started replay until it is finished, halted, paused or cancelled, and answers what it then is. It may be killed
 * at any point: whoever runs it next finds out from the letters what was sent and what became of it.
 */
export async function runReplay(store: Store, id: string, options: RunOptions): Promise<Replay> {
  return new Runner(store, id, options).run()
}

class Runner {
  readonly #store: Store
  readonly #id: string
  readonly #options: RunOptions
  #tat = IDLE

  constructor(store: Store, id: string, options: RunOptions) {
    this.#store = store
    this.#id = id
    this.#options = options
  }

  async run(): Promise<Replay> {
    const { replays } = this.#store
    const { owner } = this.#options
    await this.#hold()
    try {
      let replay = await this.#replay()
      if (replay.state === 'running') await this.#sendAgainWhatMayBeLost(replay)
      while (replay.state === 'running' && !this.#options.signal?.aborted) {
        await this.#hold()
        await this.#round(replay)
        replay = await this.#replay()
      }
      return replay
    } finally {
      await replays.letGo(this.#id, owner)
    }
  }

  /** One look at what is known, then the next few letters, if the stage has any left. */
  async #round(replay: Replay): Promise<void> {
    await this.#gatherOutcomes()
    const counts = await this.#store.replays.counts(this.#id)
    this.#options.onProgress?.(replay, counts)
    const halted = haltReason(replay.halt, counts, replay.forgiven)
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
    if (sentSoFar < stageEnd) await this.#send(replay, Math.min(BATCH, stageEnd - sentSoFar))
    else if (counts.sent === 0) await this.#become(replay, { stage: replay.stage + 1 })
    else await this.#pause(LOOK_EVERY_MS)
  }

  async #send(replay: Replay, room: number): Promise<void> {
    const { replays, deadLetters } = this.#store
    const { around } = this.#options
    const items = await replays.items(this.#id, { status: 'waiting', limit: room })
    for (const item of items) {
      // Asked before every letter, so that a slow replay can be stopped between two of them.
      if (this.#options.signal?.aborted || (await this.#replay()).state !== 'running') return
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
        continue
      }
      await this.#waitForTurn(replay)
      const claimed = isOurs ? letter : await this.#claim(letter, replay)
      if (claimed !== undefined) await this.#sendOne(claimed, replay, item)
    }
  }

  /** The letter is ours once it is `replaying`; undefined when someone else changed it first. */
  async #claim(letter: DeadLetter, replay: Replay): Promise<DeadLetter | undefined> {
    const change = { to: 'replaying', from: letter.state, replayId: replay.id } as const
    return this.#store.deadLetters.change(letter.id, { ...change, at: this.#options.around.clock.now() })
  }

  /** Written down as sent before it is sent: a crash between the two sends it again, never not at all. */
  async #sendOne(letter: DeadLetter, replay: Replay, item: ReplayItem): Promise<void> {
    const sentAt = this.#options.around.clock.now()
    const cycle = letter.replays
    await this.#store.replays.record(this.#id, [{ ...item, status: 'sent', cycle, sentAt }])
    await this.#options.target.send([replayEvent(letter, replay, cycle)])
  }

  async #sendAgainWhatMayBeLost(replay: Replay): Promise<void> {
    const sent = await this.#store.replays.items(this.#id, { status: 'sent' })
    for (const item of sent) {
      const letter = await this.#store.deadLetters.get(item.letterId)
      if (letter?.state === 'replaying' && letter.replayId === replay.id)
        await this.#options.target.send([replayEvent(letter, replay, letter.replays)])
    }
  }

  /** Looks at the letters that were sent first; as long as all of a page have ended, at the next ones too. */
  async #gatherOutcomes(): Promise<void> {
    const { replays, deadLetters } = this.#store
    for (;;) {
      const sent = await replays.items(this.#id, { status: 'sent', limit: LOOK_AT_MOST })
      const ended = await endedItems(deadLetters, sent, this.#options.around.clock.now())
      if (ended.length > 0) await replays.record(this.#id, ended)
      if (ended.length < LOOK_AT_MOST) return
    }
  }

  async #waitForTurn({ perSecond }: Replay): Promise<void> {
    const pace = rate({ perSecond, burst: 1 })
    const now = this.#options.around.clock.now()
    const at = notBefore(pace, this.#tat, now)
    this.#tat = advance(pace, this.#tat, now)
    if (at > now) await this.#pause(at - now)
  }

  /** Nobody else changes a running replay but to stop it, and that wins. */
  async #become(replay: Replay, changes: Partial<Replay>): Promise<void> {
    const { clock } = this.#options.around
    const isOver = changes.state === 'finished'
    await changeReplay(this.#store, this.#id, current =>
      current.state === 'running' && current.stage === replay.stage
        ? { ...changes, ...(isOver ? { endedAt: clock.now() } : {}) }
        : undefined,
    )
    if (changes.state === undefined) return
    await this.#store.audit.append({
      at: clock.now(),
      by: this.#options.owner,
      action: `replay.${changes.state}`,
      target: this.#id,
      ...(changes.why === undefined ? {} : { detail: { why: changes.why } }),
    })
  }

  async #hold(): Promise<void> {
    if (await this.#store.replays.lease(this.#id, this.#options.owner, LEASE_MS)) return
    throw new ReplayRefusedError(this.#id, 'is being run by another process; look at it with replay show')
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
