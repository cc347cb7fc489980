import { type FleetBucket, grantTurns, IDLE_BUCKET, type TurnGrant, type TurnRequest } from './bucket.ts'
import { Demand } from './demand.ts'
import {
  ANSWER_TIMEOUT_MS,
  type FleetPolicy,
  HEARTBEAT_MS,
  keepMs,
  longestWaitMs,
  MEMBER_TTL_MS,
  PROBE_EVERY_MS,
  SLICE_MS,
} from './policy.ts'
import { TurnStock } from './stock.ts'

/**
 * `together`: the turns come from the fleet. `alone`: the fleet is unreachable, and the member grants itself turns at its
 * share of the rate, from its own bucket. That bucket continues from the last known level of the fleet's bucket.
 */
type Mode = { readonly kind: 'together' } | { readonly kind: 'alone'; bucket: FleetBucket }

/** A request to the fleet without an answer yet. */
interface PendingRequest {
  readonly asked: TurnRequest
  readonly sentAt: number
  /** The number of turns that the member has granted itself since. They are deducted from the answer. */
  meanwhile: number
}

const NEVER = Number.NEGATIVE_INFINITY

/**
 * The decisions of one member of a fleet: how many turns to request, when, and what to do without an answer. It does no I/O
 * and has no timers: its caller passes the time, the answers and the number of waiting retries. So it can be simulated.
 *
 *   together ──no answer for ANSWER_TIMEOUT_MS while a caller waits, or an error──▶ alone
 *      ▲─────────── any answer, after a wait for the other returning members ──────────┘
 *
 * Only one request is in flight at a time, and a member takes turns for one slice ahead at most. So the fleet exceeds its
 * limit by few turns while members change modes, and few turns are lost when a member ends.
 */
export class FleetMember {
  readonly #policy: FleetPolicy
  readonly #intervalMs: number
  readonly #stock: TurnStock
  readonly #demand: Demand
  #mode: Mode = { kind: 'together' }
  #flight: PendingRequest | undefined
  #members: { count: number; heardAt: number }
  #seenAt = NEVER
  #waitingSince: number | undefined
  /** When the last turn comes up that was taken out of the stock. */
  #lastTurnAt = NEVER
  /** Until when the fleet's bucket is known to be used up, as far as this member knows. */
  #usedUntil = NEVER
  /** The fleet has no turn before this. */
  #closedUntil = NEVER
  #askedAt = NEVER
  #probeAt = NEVER
  #isFull = false

  constructor(policy: FleetPolicy) {
    this.#policy = policy
    this.#intervalMs = 1_000 / policy.perSecond
    this.#stock = new TurnStock(keepMs(policy))
    this.#demand = new Demand(policy.perSecond)
    this.#members = { count: policy.assumedMembers, heardAt: NEVER }
  }

  get isAlone(): boolean {
    return this.#mode.kind === 'alone'
  }

  get members(): number {
    return this.#members.count
  }

  /** For a queue: the next turn comes up later than anybody would wait. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** For a queue: the next turn there is, whenever it comes up. */
  take(now: number): number | undefined {
    this.#notice(now)
    this.#stock.lapse(now)
    const at = this.#stock.take()
    if (at !== undefined) this.#lastTurnAt = at
    return at
  }

  /**
   * For an entry limit: `now` or earlier if a turn was taken, else when there may be one; undefined if the fleet must
   * be asked.
   */
  enter(now: number): number | undefined {
    this.#notice(now)
    this.#stock.lapse(now)
    const { firstAt } = this.#stock
    if (firstAt !== undefined && firstAt > now) return firstAt
    if (firstAt === undefined) {
      if (this.#mode.kind === 'alone') return this.#enterAlone(this.#mode, now)
      return now < this.#closedUntil ? this.#closedUntil : undefined
    }
    this.#demand.use(now)
    this.#stock.take()
    return now
  }

  /** Time has passed, or one more waits: gives itself turns where the fleet does not. */
  advance(now: number, waiting: number): void {
    this.#notice(now)
    this.#stock.lapse(now)
    this.#waitingSince = waiting === 0 ? undefined : (this.#waitingSince ?? now)
    const flight = this.#flight
    const isOverdue = flight !== undefined && waiting > 0 && now >= this.#patientUntil(flight)
    if (isOverdue && !this.isAlone) this.#goAlone(now)
    if (this.#mode.kind === 'alone' && this.#policy.kind === 'queue' && waiting > 0) {
      if (this.#stock.size === 0 && now >= this.#lastTurnAt) this.#grantItself(this.#mode, now, waiting)
    }
  }

  /** The request to send to the fleet now. */
  toAsk(now: number, waiting: number): TurnRequest | undefined {
    if (this.isAlone) return now >= this.#probeAt ? this.#ask(now, 0) : undefined
    if (this.#flight !== undefined) return undefined
    const want =
      this.#policy.kind === 'queue' ? this.#wantInQueue(now, waiting) : this.#wantAtDoor(now, waiting)
    if (want > 0) return this.#ask(now, want)
    return now >= this.#askedAt + HEARTBEAT_MS ? this.#ask(now, 0) : undefined
  }

  /** When to look again, if nothing happens before. */
  wakeAt(waiting: number): number {
    const times = [Number.POSITIVE_INFINITY]
    const flight = this.#flight
    if (this.isAlone) {
      times.push(this.#probeAt)
      if (waiting > 0) times.push(this.#lastTurnAt)
    } else if (flight !== undefined) {
      if (waiting > 0) times.push(this.#patientUntil(flight))
    } else {
      times.push(this.#askedAt + HEARTBEAT_MS)
      if (waiting > 0) times.push(this.#lastTurnAt - ANSWER_TIMEOUT_MS)
    }
    return Math.min(...times)
  }

  answered(asked: TurnRequest, answer: TurnGrant & { readonly members: number }, now: number): void {
    this.#notice(now)
    const flight = this.#flight?.asked === asked ? this.#flight : undefined
    const mustSettle = this.isAlone && answer.settlesInMs > 0
    // Other members are returning too, and the shared limit has not counted them yet.
    if (!mustSettle || answer.members > this.#members.count) this.#hear(answer.members, now)
    if (mustSettle) {
      if (flight !== undefined) this.#flight = undefined
      this.#probeAt = now + answer.settlesInMs
      return
    }
    // From when it was sent on: rather too little than too much, or each answer would add its own way to the bucket.
    const known = flight === undefined ? this.#usedUntil : flight.sentAt + answer.aheadMs
    this.#usedUntil = Math.max(known, this.#usedUntilAlone())
    this.#mode = { kind: 'together' }
    // A late answer shows that the fleet is reachable again. Its turns are lost.
    if (flight !== undefined) this.#receive(flight, answer, now)
  }

  /** The ask ended in an error. */
  unanswered(asked: TurnRequest, now: number): void {
    this.#notice(now)
    if (this.#flight?.asked !== asked) return
    this.#flight = undefined
    this.#probeAt = now + PROBE_EVERY_MS
    if (!this.isAlone) this.#goAlone(now)
  }

  #receive({ asked, meanwhile }: PendingRequest, { granted, firstInMs }: TurnGrant, now: number): void {
    this.#flight = undefined
    this.#isFull = granted === 0 && asked.want > 0
    const duplicate = Math.min(granted, meanwhile)
    const firstAt = now + firstInMs + duplicate * this.#intervalMs
    this.#stock.add(firstAt, granted - duplicate, this.#intervalMs, now)
    if (granted < asked.want)
      this.#closedUntil = now + firstInMs + granted * this.#intervalMs - longestWaitMs(this.#policy)
  }

  #ask(now: number, want: number): TurnRequest {
    const { perSecond, burst } = this.#policy
    this.#askedAt = now
    this.#isFull = false
    this.#probeAt = now + PROBE_EVERY_MS
    const asked = {
      perSecond,
      burst,
      want,
      ahead: this.#aheadOf(this.#share().perSecond),
      longestWaitMs: longestWaitMs(this.#policy),
      knownAheadMs: Math.max(0, this.#usedUntil - now, this.#usedUntilAlone() - now),
      isAlone: this.isAlone,
    }
    this.#flight = { asked, sentAt: now, meanwhile: 0 }
    return asked
  }

  /** As many as wait, when the turns taken before are nearly over. Earlier, this member would stand in line twice. */
  #wantInQueue(now: number, waiting: number): number {
    return this.#stock.size === 0 && now >= this.#lastTurnAt - ANSWER_TIMEOUT_MS ? waiting : 0
  }

  /** As many as wait, and as many as will come in the next slice. */
  #wantAtDoor(now: number, waiting: number): number {
    const expected = this.#demand.expected(now)
    const { size, lastAt } = this.#stock
    if (size === 0) return waiting > 0 ? waiting + expected : 0
    const isNearlyOver = lastAt! <= now + ANSWER_TIMEOUT_MS && size <= expected / 2
    return isNearlyOver ? expected - size : 0
  }

  #goAlone(now: number): void {
    const slots = (at: number) => ((at - now) * this.#share().perSecond) / 1_000
    // Behind what the fleet has given out, and at its own pace behind its own last turn.
    const ahead = Math.max(0, slots(this.#usedUntil), slots(this.#lastTurnAt) + 1)
    this.#mode = { kind: 'alone', bucket: { ...IDLE_BUCKET, ahead, seenAt: now } }
  }

  #grantItself(mode: Mode & { kind: 'alone' }, now: number, want: number): void {
    const share = this.#share()
    const waitMs = longestWaitMs(this.#policy)
    const ahead = this.#aheadOf(share.perSecond)
    const asked = { ...share, want, ahead, longestWaitMs: waitMs, knownAheadMs: 0, isAlone: false }
    const { bucket, answer } = grantTurns(mode.bucket, asked, now)
    mode.bucket = bucket
    this.#isFull = answer.granted === 0
    if (this.#flight !== undefined) this.#flight.meanwhile += answer.granted
    this.#stock.add(now + answer.firstInMs, answer.granted, 1_000 / share.perSecond, now)
  }

  #enterAlone(mode: Mode & { kind: 'alone' }, now: number): number {
    const asked = { ...this.#share(), want: 1, ahead: 0, longestWaitMs: 0, knownAheadMs: 0, isAlone: false }
    const { bucket, answer } = grantTurns(mode.bucket, asked, now)
    mode.bucket = bucket
    if (answer.granted === 0) return now + answer.firstInMs
    if (this.#flight !== undefined) this.#flight.meanwhile++
    return now
  }

  /** As many as a slice has. Everyone asks for as many, and in turn, so all get their shares. */
  #aheadOf(perSecond: number): number {
    return Math.ceil((perSecond * SLICE_MS) / 1_000)
  }

  #share(): { readonly perSecond: number; readonly burst: number } {
    const { perSecond, burst } = this.#policy
    const { count } = this.#members
    return { perSecond: perSecond / count, burst: Math.max(1, Math.floor(burst / count)) }
  }

  /** In time, its own bucket is as far ahead as the fleet's would be if all did as it does. */
  #usedUntilAlone(): number {
    if (this.#mode.kind !== 'alone') return NEVER
    const { ahead, seenAt } = this.#mode.bucket
    return seenAt + (ahead * 1_000) / this.#share().perSecond
  }

  /** Fewer are believed only after a while: a server that was just started does not know all of them yet. */
  #hear(count: number, now: number): void {
    const isNews = this.#members.heardAt === NEVER || count >= this.#members.count
    if (isNews || now >= this.#members.heardAt + MEMBER_TTL_MS)
      this.#members = { count: Math.max(1, count), heardAt: now }
  }

  #patientUntil({ sentAt }: PendingRequest): number {
    return Math.max(sentAt, this.#waitingSince ?? sentAt) + ANSWER_TIMEOUT_MS
  }

  /** A clock that was set back takes all times with it, or everything would wait until it has caught up. */
  #notice(now: number): void {
    const ms = now - this.#seenAt
    this.#seenAt = now
    if (!(ms < 0)) return
    this.#stock.move(ms)
    this.#lastTurnAt += ms
    this.#usedUntil += ms
    this.#closedUntil += ms
    this.#askedAt += ms
    this.#probeAt += ms
    this.#members.heardAt += ms
    if (this.#waitingSince !== undefined) this.#waitingSince += ms
    if (this.#flight !== undefined) this.#flight = { ...this.#flight, sentAt: this.#flight.sentAt + ms }
    if (this.#mode.kind === 'alone') {
      const { bucket } = this.#mode
      this.#mode.bucket = { ...bucket, seenAt: bucket.seenAt + ms }
    }
  }
}
