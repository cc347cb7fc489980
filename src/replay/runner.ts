import { withAudit } from '../adapter-kit/with-audit.ts'
import { isTakenBy } from '../core/dead-letter/change.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { advance, IDLE, notBefore, type Rate, rate } from '../core/limit/gcra.ts'
import { RENEW_MS } from '../operations/held-lease.ts'
import { isUnroutable } from '../operations/origin-broker.ts'
import { monotonicNow } from '../ports/clock.ts'
import type { ReplayRoute } from '../ports/collector.ts'
import type { Observer } from '../ports/observer.ts'
import type { Replay, ReplayCounts, ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { publishInSpan, type Tracing } from '../ports/tracing.ts'
import { observe } from '../runtime/observe.ts'
import { replayEvent } from '../runtime/replay-event.ts'
import { sleep } from '../runtime/sleep.ts'
import { safeObserver } from '../runtime/user-functions/observer-faults.ts'
import { changeReplay, requireReplay } from './control.ts'
import { DeliveryProblem } from './delivery-problem.ts'
import { ReplayRefusedError } from './errors.ts'
import { FleetItems, NOT_GIVEN } from './fleet-items.ts'
import { judge } from './judge.ts'
import { LateClaims } from './late-claims.ts'
import { LateRecords } from './late-records.ts'
import { Lease } from './lease.ts'
import { observeEnded, recordOutcomes } from './outcomes.ts'
import { OutcomesBeforeResume } from './outcomes-before-resume.ts'
import { isOwn, OwnItems } from './own-items.ts'
import { isStored, SentItems } from './sent-items.ts'
import { haltReason, stageEnds } from './stages.ts'
import { type ReplayEnvironment, type ReplayTarget, routeThrough, withRoutes } from './target.ts'
import { UnreachableItems } from './unreachable-items.ts'
import { returnGivenUpLetters, returnLetter, returnUnsentLetters } from './unsent.ts'

const RUNS_ELSEWHERE = 'is running in another process; check it with `lazaret replay show`'
/** A write that was slow changes nothing when another run has the item meanwhile. */
const ONLY_WAITING = { status: 'waiting' } as const
/** The greatest number of letters in a round (K8). Between rounds the runner reads commands and outcomes. */
const BATCH = 50
const LOOK_EVERY_MS = 200
/** The wait before a failing downstream is checked again: live traffic has priority. */
const DOWNSTREAM_RETRY_MS = 1_000
/** The name for the origin of letters without a broker, such as those of a wrapped handler. */
const UNKNOWN_BROKER = 'unknown'

/** Options of `runReplay()`. */
export interface RunOptions {
  /** Where the run sends the events of the letters. */
  readonly target: ReplayTarget
  /** The clock and the ids of the run, with optional checks before an event is sent. */
  readonly environment: ReplayEnvironment
  /** Names this runner in the audit. A replay has one run at a time, whatever they are called. */
  readonly owner: string
  /** Ends the run at the next safe point [none]. The replay keeps its state, and another runner can continue it. */
  readonly signal?: AbortSignal | undefined
  /** Receives `replaySent` and `replayItemEnded` [none]. */
  readonly observer?: Observer | undefined
  /** Gives each replayed event its own trace, with a link to the trace of its first cycle [none]. */
  readonly tracing?: Tracing | undefined
  /** Hide values of letters in the error of a run that ends because no process sends them [the default masks]. */
  readonly masks?: Masks | undefined
  /** Receives the replay and its counts while it runs [none]. */
  readonly onProgress?: ((replay: Replay, counts: ReplayCounts) => void) | undefined
}

/**
 * Runs a started replay until it is finished, halted, paused or cancelled, and returns its last state. The process may
 * be killed at any point: the next runner reads from the letters which were sent, and their outcomes. A runner that stalled
 * until another took over also ends; the replay that it returns is still running.
 */
export async function runReplay(store: Store, id: string, options: RunOptions): Promise<Replay> {
  return new Runner(store, id, options).run()
}

class Runner {
  readonly #store: Store
  readonly #id: string
  readonly #options: RunOptions
  readonly #lease: Lease
  readonly #forgiven: OutcomesBeforeResume
  readonly #sentItems: SentItems
  readonly #environment: ReplayEnvironment
  readonly #fleetItems: FleetItems
  readonly #lateClaims = new LateClaims()
  readonly #lateRecords: LateRecords
  /** Items that an earlier runner recorded as sent and may not have sent. */
  readonly #mayBeLost: ReplayItem[] = []
  readonly #unreachable = new UnreachableItems()
  readonly #problem: DeliveryProblem
  readonly #ownItems: OwnItems
  #tat = IDLE

  constructor(store: Store, id: string, options: RunOptions) {
    this.#store = store
    this.#id = id
    this.#options = options
    this.#lease = new Lease(store, id, options.owner, options.environment)
    this.#forgiven = new OutcomesBeforeResume(store.replays)
    this.#sentItems = new SentItems(store.replays, id)
    this.#fleetItems = new FleetItems(store.replays, id, options.environment.clock)
    this.#problem = new DeliveryProblem(store, options.environment.clock, options.masks)
    this.#lateRecords = new LateRecords(store.replays, id, options.environment.clock)
    this.#ownItems = new OwnItems(store, id, this.#lease, options.environment)
    this.#environment = withRoutes(options.environment, options.target)
  }

  async run(): Promise<Replay> {
    if (!(await this.#lease.take())) throw new ReplayRefusedError(this.#id, RUNS_ELSEWHERE)
    try {
      let replay = await this.#replay()
      if (replay.state === 'running') {
        await returnGivenUpLetters(this.#store, this.#id, this.#options.environment.clock)
        await this.#takeBack(await this.#unconfirmedItems())
      }
      while (replay.state === 'running' && !this.#options.signal?.aborted && (await this.#lease.keep())) {
        await this.#round(replay)
        replay = await this.#replay()
      }
      // The person who cancelled it may have looked before the last letter was put back.
      if (replay.state === 'cancelled')
        await returnUnsentLetters(this.#store, this.#id, this.#options.environment.clock, 'the runner')
      return replay
    } finally {
      await this.#lease.release()
    }
  }

  /** The items of an earlier runner that may not have been sent. A process may still be sending some of them. */
  async #unconfirmedItems(): Promise<ReplayItem[]> {
    const { fleet } = this.#options.target
    const read = async () =>
      (await this.#store.replays.items(this.#id, { status: 'sent' })).filter(
        ({ handedOn, heldBy }) => handedOn !== 'durable' && (heldBy === undefined || fleet === undefined),
      )
    const found = await read()
    const deliveries = new Set(
      found.flatMap(({ delivery }) => (isOwn(delivery) || delivery === NOT_GIVEN ? [] : (delivery ?? []))),
    )
    if (fleet === undefined || deliveries.size === 0) return found
    for (const id of deliveries) await fleet.ended(id, () => this.#lease.keep())
    return read()
  }

  /** The items are sent again. */
  async #takeBack(items: readonly ReplayItem[]): Promise<void> {
    if (items.length === 0 || !(await this.#lease.keep())) return
    const free = await this.#fleetItems.takeBack(items)
    if (await this.#lease.keep()) this.#mayBeLost.push(...free)
  }

  /** Records outcomes, applies the halt rules, then sends the next letters of the stage. */
  async #round(replay: Replay): Promise<void> {
    await recordOutcomes(this.#store, replay, this.#options.environment.clock, this.#options.observer)
    // Read before the counts, so that the counts contain at least these outcomes.
    const forgiven = await this.#forgiven.of(replay)
    const counts = await this.#store.replays.counts(this.#id)
    this.#options.onProgress?.(replay, counts)
    const halted = haltReason(replay.halt, counts, forgiven)
    if (halted !== undefined) {
      await this.#become(replay, { state: 'halted', stateReason: halted })
      return
    }
    if (counts.waiting === 0 && counts.sent === 0) {
      await this.#become(replay, { state: 'finished', stateReason: undefined })
      return
    }
    const { fleet } = this.#options.target
    if (fleet !== undefined) await this.#takeBack(await this.#fleetItems.abandoned(fleet))
    this.#mayBeLost.push(...this.#unreachable.due(this.#options.environment.clock.now()))
    const toSend = replay.count - counts.skipped - counts.lost
    const ends = stageEnds(replay.stages, toSend)
    const sentSoFar = toSend - counts.waiting
    const stageEnd = ends[replay.stage] ?? toSend
    if (this.#mayBeLost.length > 0) await this.#inBatch(replay, () => this.#sendAgain(replay))
    else if (sentSoFar < stageEnd)
      await this.#inBatch(replay, () => this.#send(replay, Math.min(BATCH, stageEnd - sentSoFar)))
    else if (counts.sent === 0) await this.#become(replay, { stage: replay.stage + 1 })
    else await this.#waitForOutcomes(replay)
  }

  async #waitForOutcomes(replay: Replay): Promise<void> {
    await this.#takeBack(await this.#lateRecords.find(item => this.#unreachable.has(item)))
    const { reason } = this.#unreachable
    if (reason !== undefined) await this.#problem.tell(replay, reason)
    await this.#pause(LOOK_EVERY_MS)
  }

  /** Records what was sent, however the batch ends. Only after a crash does the next runner send a letter twice. */
  async #inBatch(replay: Replay, send: () => Promise<void>): Promise<void> {
    try {
      await send()
      await this.#deliverByFleet(replay)
    } finally {
      this.#fleetItems.take()
      if (!this.#lease.isLost) await this.#sentItems.record()
    }
  }

  async #send(replay: Replay, room: number): Promise<void> {
    const { replays, deadLetters } = this.#store
    const environment = this.#environment
    const items = await replays.items(this.#id, { status: 'waiting', limit: room })
    this.#lateClaims.see(items)
    for (const item of items) {
      if (this.#fleetItems.isFull(replay) || !(await this.#turn(replay))) return
      // Read after the wait: the runner sends the current content of the letter.
      const now = environment.clock.now()
      const letter = await deadLetters.get(item.letterId)
      if (letter === undefined) {
        await replays.record(this.#id, [{ ...item, status: 'lost', endedAt: now }], ONLY_WAITING)
        continue
      }
      // An earlier runner changed the letter and crashed before it recorded the send.
      const isOurs = isTakenBy(letter, replay.id)
      const route = isOurs ? await routeThrough(this.#options.target, letter, replay.to) : undefined
      if (route?.kind === 'none') {
        await this.#giveUp(letter, replay, item, route.reason)
        continue
      }
      const gateDecision = isOurs ? undefined : await judge(letter, replay, environment, now)
      if (gateDecision?.decision === 'skip_downstream') {
        await this.#pause(DOWNSTREAM_RETRY_MS)
        return
      }
      if (gateDecision !== undefined && gateDecision.decision !== 'replay') {
        const mark = this.#lateClaims.markOf(item, letter)
        const skipped = { ...item, ...gateDecision, ...mark, status: 'skipped', endedAt: now } as const
        await replays.record(this.#id, [skipped], ONLY_WAITING)
        observeEnded(this.#options.observer ?? {}, replay, 'skipped', letter)
        continue
      }
      const claimed = isOurs ? letter : await this.#claim(letter, replay)
      // A claim can take so long that another runner has skipped the letter.
      if (claimed !== undefined && (await this.#lease.keep())) await this.#sendOne(claimed, replay, item)
    }
  }

  /**
   * Claims the letter by the state `replaying`. Undefined if another process changed the letter first. A claim that reaches
   * the store when another runner has replayed the letter does nothing. Otherwise nobody would send the letter again.
   */
  async #claim(letter: DeadLetter, replay: Replay): Promise<DeadLetter | undefined> {
    const { id, state: from, replays: onlyIfReplays } = letter
    const change = { to: 'replaying', from, onlyIfReplays, replayId: replay.id } as const
    return this.#store.deadLetters.change(id, { ...change, at: this.#options.environment.clock.now() })
  }

  /**
   * Written down as sent before it is sent: a crash between the two sends it again, never not at all. When sending
   * fails the record stays: the event may still have arrived, and the next runner sends it again.
   */
  async #sendOne(letter: DeadLetter, replay: Replay, item: ReplayItem): Promise<void> {
    const { replays } = this.#store
    const sentAt = this.#options.environment.clock.now()
    const route = await routeThrough(this.#options.target, letter, replay.to)
    const delivery = route.kind === 'fleet' ? NOT_GIVEN : undefined
    const sent = { ...item, status: 'sent', cycle: letter.replays, sentAt, delivery } as const
    await replays.record(this.#id, [sent], ONLY_WAITING)
    // The state is read once more. A cancel after this point finds the item sent and does not return the letter.
    if (this.#lease.hasRunOut && !(await isStored(replays, this.#id, sent))) return this.#lease.end()
    if (await this.#mayGoOn()) await this.#handOn(letter, replay, sent, route)
    else if (!this.#lease.isLost) await replays.record(this.#id, [item])
  }

  async #handOn(letter: DeadLetter, replay: Replay, item: ReplayItem, route: ReplayRoute): Promise<void> {
    const { target, tracing } = this.#options
    if (route.kind === 'fleet') {
      this.#fleetItems.add(letter, item)
      return
    }
    const own = route.kind === 'in-process' ? await this.#ownItems.take(item) : { item, hold: undefined }
    if (own === undefined) return
    this.#countAsSent(replay)
    const events = [replayEvent(letter, replay, letter.replays)]
    const send = (followed: readonly LazaretEvent[]) => target.send(followed, letter.origin, own.hold)
    try {
      await this.#lease.during(() =>
        tracing === undefined
          ? send(events)
          : publishInSpan(tracing, letter.origin.broker ?? UNKNOWN_BROKER, events, send),
      )
    } catch (error) {
      // After any other failure the event may have arrived.
      if (!isUnroutable(error)) throw error
      await this.#giveUp(letter, replay, item, error.message)
      return
    }
    this.#sentItems.add(own.item, route)
    this.#observeSent(letter, replay)
  }

  /** Lets processes of the fleet send the gathered items, at the rate of the replay. What nobody sent is sent again. */
  async #deliverByFleet(replay: Replay): Promise<void> {
    const given = this.#fleetItems.take()
    const { target, owner } = this.#options
    if (given.length === 0 && this.#sentItems.count > 0) await this.#problem.clear(replay)
    // Without a turn the items stay unconfirmed, and the next runner sends them.
    if (given.length === 0 || target.fleet === undefined || !(await this.#turn(replay))) return
    const keepLease = () => this.#lease.keep()
    const ended = await this.#fleetItems.deliver(replay, given, target.fleet, owner, keepLease)
    this.#countAsSent(replay)
    if (this.#lease.isLost) return
    for (const { letter } of ended.handedOn) this.#observeSent(letter, replay)
    for (const { letter, item, reason } of ended.refused) await this.#giveUp(letter, replay, item, reason)
    await this.#takeBack(ended.unconfirmed)
    if (ended.handedOn.length > 0 || ended.problem === undefined) await this.#problem.clear(replay)
    else await this.#problem.tell(replay, ended.problem)
    if (ended.handedOn.length === 0) await this.#pause(DOWNSTREAM_RETRY_MS)
  }

  #countAsSent(replay: Replay): void {
    this.#tat = advance(rateOf(replay), this.#tat, monotonicNow(this.#options.environment.clock))
  }

  #observeSent({ id: letterId, channel, handler: name }: DeadLetter, { id: replayId }: Replay): void {
    const observer = safeObserver(this.#options.observer ?? {})
    if (observer.replaySent) observe(observer, 'replaySent', { channel, name, letterId, replayId })
  }

  /** Takes one round of items, so that outcomes are recorded between rounds. */
  async #sendAgain(replay: Replay): Promise<void> {
    for (let sent = 0; sent < BATCH && this.#mayBeLost.length > 0; sent++) {
      if (this.#fleetItems.isFull(replay) || !(await this.#turn(replay))) return
      const item = this.#mayBeLost.shift()!
      const letter = await this.#store.deadLetters.get(item.letterId)
      if (letter === undefined || !isTakenBy(letter, replay.id)) continue
      const route = await routeThrough(this.#options.target, letter, replay.to)
      if (route.kind === 'fleet') await this.#handOn(letter, replay, item, route)
      else if (route.kind !== 'none')
        await this.#handOn(letter, replay, await this.#fleetItems.takeOut(item), route)
      else if (item.delivery === NOT_GIVEN) await this.#giveUp(letter, replay, item, route.reason)
      // Its event may have arrived. If the letter were returned, the event could still be handled.
      else this.#unreachable.add(item, route.reason, this.#options.environment.clock.now())
    }
  }

  /** Records the item before it returns the letter. Otherwise the new state of the letter would count as an outcome. */
  async #giveUp(letter: DeadLetter, replay: Replay, item: ReplayItem, reason: string): Promise<void> {
    const { clock } = this.#options.environment
    const ended = { decision: 'skip_unreachable', reason, status: 'skipped', endedAt: clock.now() } as const
    await this.#store.replays.record(this.#id, [{ ...item, ...ended, cycle: letter.replays }])
    await returnLetter(this.#store.deadLetters, letter, clock)
    observeEnded(this.#options.observer ?? {}, replay, 'skipped', letter)
  }

  /** Waits for the next turn, by the clock that never steps; false if the run must stop. */
  async #turn(replay: Replay): Promise<boolean> {
    while (await this.#mayGoOn()) {
      const now = monotonicNow(this.#options.environment.clock)
      const at = notBefore(rateOf(replay), this.#tat, now)
      if (at <= now) return true
      await this.#pause(Math.min(at - now, RENEW_MS))
    }
    return false
  }

  /** Checked before every letter, so that a slow replay can stop between two letters. */
  async #mayGoOn(): Promise<boolean> {
    if (this.#options.signal?.aborted || !(await this.#lease.keep())) return false
    return (await this.#replay()).state === 'running'
  }

  /** Changes the replay. Other processes only stop a running replay, and a stop wins. */
  async #become(replay: Replay, changes: Partial<Replay>): Promise<void> {
    const { clock } = this.#options.environment
    const isOver = changes.state === 'finished'
    const isMeant = (current: Replay) => current.state === 'running' && current.stage === replay.stage
    /** Undefined if another process has stopped the replay. */
    const change = async (): Promise<true | undefined> => {
      let isMade = false
      await changeReplay(this.#store, this.#id, current => {
        isMade = isMeant(current)
        return isMade ? { ...changes, ...(isOver ? { endedAt: clock.now() } : {}) } : undefined
      })
      return isMade ? true : undefined
    }
    if (changes.state === undefined) {
      await change()
      return
    }
    if (!isMeant(await this.#replay())) return
    const detail = changes.stateReason === undefined ? {} : { detail: { reason: changes.stateReason } }
    const action = `replay.${changes.state}`
    const entry = { at: clock.now(), by: this.#options.owner, action, target: this.#id, ...detail }
    await withAudit(this.#store.audit, entry, change)
  }

  #replay(): Promise<Replay> {
    return requireReplay(this.#store, this.#id)
  }

  /** Waits. An abort ends the wait, and the loop then sees the signal. */
  async #pause(ms: number): Promise<void> {
    await sleep(this.#options.environment.clock, ms, this.#options.signal).catch(() => {})
  }
}

const rateOf = ({ perSecond }: Replay): Rate => rate({ perSecond, burst: 1 })
