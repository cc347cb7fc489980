import { createIdSource, type IdSource } from '../core/event/uuid.ts'
import type { Cancel, Clock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import { combineObservers } from '../runtime/observe.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { groupReplayer } from './group-replayer.ts'
import { Milestones } from './milestones.ts'
import type { Release } from './shop/fees.ts'
import { stockReport } from './shop/tracking/track.ts'
import { openShop, type Shop, type ShopStore } from './shop.ts'
import { Producer } from './traffic/producer.ts'
import { Visitors } from './traffic/visitors.ts'

/** The audit log names this user for the scheduled actions. */
const DEMO_USER = 'demo'
/** A replay ends within this time after the outcome of its last letter. */
const CHECK_AFTER_MS = 600

interface ScenarioOptions {
  readonly store: ShopStore
  readonly clock: Clock
  readonly seed: number
  /** Observes the shop in addition to the scenario itself. */
  readonly observer?: Observer | undefined
  /** Receives the errors of scheduled steps. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/**
 * The steps of the first minute, in milliseconds from its start. A deployment comes just before the next order, so that the
 * payment before it is finished, also on a slow machine.
 */
const SCHEDULE = {
  breakPayments: 3_250,
  wrongShape: 6_000,
  badAddress: 8_000,
  unknownArticle: 9_000,
  impossibleDate: 10_000,
  warehouseFails: 13_000,
  analyticsFails: 15_000,
  stockReport: 18_000,
  storeFailsOnce: 19_000,
  analyticsRecovers: 21_000,
  warehouseRecovers: 23_000,
  burst: 27_500,
  replayTooSoon: 30_000,
  fixPayments: 40_100,
  replayAfterFix: 43_000,
} as const

type ScheduledStep = keyof typeof SCHEDULE

/** The services that can fail and recover. */
export type Service = 'warehouse' | 'analytics'

/** A user who presses a button, or the schedule of the scenario. */
type Actor = 'user' | 'schedule'

/**
 * The milestones that a step needs before it runs. On a slow machine a milestone can be late; the step then waits for it.
 * A step whose milestone never comes, because a user did something else, does not run.
 */
const PRECONDITIONS: { readonly [S in ScheduledStep]?: (seen: Milestones) => boolean } = {
  analyticsRecovers: seen => seen.has('sink-fails'),
  warehouseRecovers: seen => seen.has('breaker-opens'),
  replayTooSoon: seen => seen.has('broken-release'),
  fixPayments: seen => seen.isReplayOver,
  replayAfterFix: seen => seen.has('fix'),
}
/** The pause after a late milestone: viewers see the step before, and running payments finish. */
const PAUSE_MS = 2_000

/**
 * Opens the shop and runs the steps of the demo at their scheduled times, or later, after their milestones. Everything
 * follows from a clock and a seed, so a run repeats exactly. After a user has deployed a release or changed the health of a
 * service, the schedule leaves it alone.
 */
export class Scenario {
  readonly shop: Shop
  readonly milestones: Milestones
  readonly startedAt: number
  readonly #options: ScenarioOptions
  readonly producer: Producer
  readonly visitors: Visitors
  readonly #newId: IdSource
  readonly #replayGroup: ReturnType<typeof groupReplayer>
  readonly #closing = new AbortController()
  readonly #timers = new Set<Cancel>()
  readonly #running = new Set<Promise<void>>()
  /** The steps that are due and wait for a milestone, with their scheduled times. */
  readonly #waiting = new Map<ScheduledStep, number>()
  readonly #controlledByUser = new Set<'release' | Service>()
  readonly #actions: Readonly<Record<ScheduledStep, (at: number) => Promise<void> | void>> = {
    breakPayments: () => this.ship('2.4.0', 'schedule'),
    wrongShape: at => this.producer.place('wrong-shape', at),
    badAddress: at => this.producer.place('bad-address', at),
    unknownArticle: at => this.producer.place('unknown-article', at),
    impossibleDate: at => this.producer.place('impossible-date', at),
    warehouseFails: () => this.setHealth('warehouse', 'failing', 'schedule'),
    analyticsFails: () => this.setHealth('analytics', 'failing', 'schedule'),
    stockReport: at => stockReport(this.shop.tracking.track, this.#newId(at), at),
    storeFailsOnce: () => this.shop.tracking.failNextSave(),
    analyticsRecovers: () => this.setHealth('analytics', 'healthy', 'schedule'),
    burst: at => this.visitors.burst(at),
    warehouseRecovers: () => this.setHealth('warehouse', 'healthy', 'schedule'),
    replayTooSoon: () => this.#replay('replay-halts', 'payments look fine again'),
    fixPayments: () => this.ship('2.4.1', 'schedule'),
    replayAfterFix: () => this.#replay('replay-recovers', 'wallets are fixed in 2.4.1'),
  }
  #willCheck = false
  isReplaying = false

  constructor(options: ScenarioOptions) {
    const { store, clock, seed, observer: watching = {} } = options
    this.#options = options
    this.startedAt = clock.now()
    this.milestones = new Milestones(
      () => this.#checkReplaysSoon(),
      () => this.#playWaiting(),
    )
    const observer = combineObservers(this.milestones.observer, watching)
    const trackingObserver = combineObservers(this.milestones.trackingObserver, watching)
    this.shop = openShop({ store, clock, seed, observer, trackingObserver })
    const { track } = this.shop.tracking
    this.producer = new Producer({ clock, seed, publish: this.shop.publish }, this.startedAt)
    this.visitors = new Visitors({ clock, seed, track }, this.startedAt)
    const newId = createIdSource(seededRandom(seed + 77))
    this.#newId = createIdSource(seededRandom(seed + 78))
    const { signal } = this.#closing
    this.#replayGroup = groupReplayer({ store, shop: this.shop, clock, newId, observer: watching, signal })
  }

  async start(): Promise<void> {
    await this.shop.start()
    this.producer.start()
    this.visitors.start()
    for (const [step, afterMs] of Object.entries(SCHEDULE)) {
      const at = this.startedAt + afterMs
      this.#later(at - this.#options.clock.now(), () => this.#playOrWait(step as ScheduledStep, at))
    }
  }

  /** Stops new orders and visitors. Running work continues. */
  stopTraffic(): void {
    this.producer.close()
    this.visitors.close()
  }

  async close(options?: { readonly graceMs?: number | undefined }): Promise<void> {
    this.#closing.abort()
    this.stopTraffic()
    for (const cancel of this.#timers) cancel()
    await Promise.all(this.#running)
    await this.shop.close(options)
  }

  /** Ships a release of the payments. After a user has shipped one, the schedule ships no more. */
  async ship(release: Release, actor: Actor = 'user'): Promise<void> {
    if (!this.#mayControl('release', actor)) return
    await this.shop.payments.deploy(release)
    if (release === '2.4.1') this.milestones.reach('fix')
  }

  /** Makes a service fail or recover. After a user has done so, the schedule leaves that service alone. */
  setHealth(service: Service, health: 'failing' | 'healthy', actor: Actor = 'user'): void {
    const { services, tracking } = this.shop
    const controlled = service === 'warehouse' ? services.warehouse : tracking.analytics
    if (this.#mayControl(service, actor)) controlled.isFailing = health === 'failing'
  }

  /** Starts a replay of the failed payments in the background, unless one is running. */
  startReplay(by: string, reason: string): void {
    this.#run(() => this.#replayPayments(by, reason))
  }

  /** Records in the audit log that a user ran an action. */
  async recordAction(action: string, by: string): Promise<void> {
    const { store, clock } = this.#options
    await store.audit.append({ at: clock.now(), by, action, target: 'shop' })
  }

  async #playOrWait(step: ScheduledStep, at: number): Promise<void> {
    if (PRECONDITIONS[step]?.(this.milestones) ?? true) await this.#actions[step](at)
    else this.#waiting.set(step, at)
  }

  #playWaiting(): void {
    if (this.#closing.signal.aborted) return
    for (const [step, at] of this.#waiting) {
      if (!PRECONDITIONS[step]?.(this.milestones)) continue
      this.#waiting.delete(step)
      this.#later(PAUSE_MS, () => this.#actions[step](at))
    }
  }

  #mayControl(what: 'release' | Service, actor: Actor): boolean {
    if (actor === 'user') this.#controlledByUser.add(what)
    return actor === 'user' || !this.#controlledByUser.has(what)
  }

  /** Only the broken release makes a replay halt, and only another release lets it recover; else the step is skipped. */
  async #replay(milestone: 'replay-halts' | 'replay-recovers', reason: string): Promise<void> {
    const isBroken = this.shop.payments.release === '2.4.0'
    if (this.milestones.has(milestone) || isBroken !== (milestone === 'replay-halts')) return
    await this.#replayPayments(DEMO_USER, reason)
  }

  async #replayPayments(by: string, reason: string): Promise<void> {
    const { brokenGroup } = this.milestones
    if (brokenGroup === undefined || this.isReplaying) return
    this.isReplaying = true
    try {
      await this.#replayGroup(brokenGroup, by, reason)
    } finally {
      this.isReplaying = false
    }
    await this.#checkReplays()
  }

  /** Runs work after a delay, unless the scenario is closed before. */
  #later(delayMs: number, work: () => Promise<void> | void): void {
    const cancel = this.#options.clock.schedule(Math.max(0, delayMs), () => {
      this.#timers.delete(cancel)
      this.#run(work)
    })
    this.#timers.add(cancel)
  }

  /** Closing waits for this work. An error in the work is reported and does not end the scenario. */
  #run(work: () => Promise<void> | void): void {
    const running = Promise.resolve()
      .then(work)
      .catch(error => this.#options.onError?.(error))
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  #checkReplaysSoon(): void {
    if (this.#willCheck || this.#closing.signal.aborted) return
    this.#willCheck = true
    this.#later(CHECK_AFTER_MS, () => {
      this.#willCheck = false
      return this.#checkReplays()
    })
  }

  async #checkReplays(): Promise<void> {
    const { replays } = this.#options.store
    const recent = await replays.list({ limit: 20 })
    for (const replay of recent.filter(({ createdAt }) => createdAt >= this.startedAt))
      this.milestones.checkReplay(replay, (await replays.counts(replay.id)).recovered)
  }
}
