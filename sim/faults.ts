import type { Chance } from './chance.ts'

/**
 * The fault model. A process reaches the world only through ports, and each call of a port can get one fault:
 *
 * - `refuse`: the call fails without effect.
 * - `lose`: the call takes effect, but the answer is lost, so the caller sees a failure.
 * - `hang`: no answer for a long time. A dead-letter store and a sink may hang without end, because Lazaret calls both
 *   with a time limit. The clients of broker, ledger and spill give up at some time, and then the call is refused or
 *   lost.
 * - `crash-before`, `crash-after`: the process dies before or after the effect. From then on its calls never return,
 *   its timers never fire and its handlers never continue.
 * - `late`: a timer fires late, or a delivery arrives late.
 *
 * These kinds cover what a client can observe of a failing server: no effect, an unknown effect, a delay, or its own
 * death. Longer outages affect all processes at once, and planned actions are what people and networks do. All faults
 * stop after the fault phase. From then on only events fail whose kind makes them fail, so anything that is still
 * stuck is a bug.
 */
export type FaultKind = 'refuse' | 'lose' | 'hang' | 'crash-before' | 'crash-after' | 'late'
export type Port =
  | 'broker'
  | 'subscribe'
  | 'delivery'
  | 'producer'
  | 'store'
  | 'spill'
  | 'ledger'
  | 'sink'
  | 'journal'
  | 'timer'
  | FleetPort

/** The shared store, as the processes of a fleet and its servers call it. */
export type FleetPort = 'fleet' | 'server'

export type OutageKind =
  | 'store-down'
  | 'store-hangs'
  | 'ledger-down'
  | 'disk-full'
  | 'dependency-down'
  | 'sink-down'

export interface Outage {
  readonly kind: OutageKind
  readonly fromMs: number
  readonly untilMs: number
}

/** The faults of a handler. */
export type HandlerFault =
  | 'transient'
  | 'retry-after'
  | 'integration'
  | 'permanent'
  | 'schema'
  /** A rule of the domain refuses the event, and a retry is worth it. Only for events that fail alike. */
  | 'business'
  | 'unknown'
  | 'throws-undefined'
  | 'hang'
  | 'ignores-signal'
  | 'slow'
  | 'crash'
  | 'crash-after'
  /** The handler ignores its signal and ends after its deadline. Only in worlds with extras. */
  | 'late-success'
  | 'late-failure'
  /** The handler throws a value whose every access throws. Only in worlds with extras. */
  | 'throws-unreadable'

export interface FaultPlan {
  readonly rates: { readonly [P in Port]: { readonly [K in FaultKind]?: number } }
  readonly handlerFaults: { readonly [M in HandlerFault]?: number }
  readonly outages: readonly Outage[]
  /** The longest latency of a call without a fault, in each direction. */
  readonly latencyMs: number
  readonly maxCrashes: number
  /** The longest working time of a handler or a sink. */
  readonly workMs: number
}

export interface InjectedFault {
  readonly kind: FaultKind | 'none'
  readonly beforeMs: number
  readonly afterMs: number
  /** The length of a hang or a delay. */
  readonly ms: number
  /** The result of a call that hung. */
  readonly endsIn: 'refuse' | 'lose'
}

const NO_FAULT: InjectedFault = { kind: 'none', beforeMs: 0, afterMs: 0, ms: 0, endsIn: 'refuse' }
const FAULT_FREE_WORK_MS = 60
const FAULT_KINDS = ['refuse', 'lose', 'hang', 'crash-before', 'crash-after', 'late'] as const
const LONGEST_HANG_MS: { readonly [P in Port]?: number } = {
  subscribe: 60_000,
  store: Number.POSITIVE_INFINITY,
  sink: Number.POSITIVE_INFINITY,
}

export class Faults {
  /** How many faults were injected. */
  count = 0
  areStopped = false
  #crashes = 0
  readonly #plan: FaultPlan
  readonly #chance: Chance
  readonly #elapsed: () => number

  constructor(faultPlan: FaultPlan, chance: Chance, elapsed: () => number) {
    this.#plan = faultPlan
    this.#chance = chance
    this.#elapsed = elapsed
  }

  inject(port: Port): InjectedFault {
    if (this.areStopped) return this.#noFault()
    const kind = this.#outageFault(port) ?? this.#drawKind(port)
    if (kind === undefined) return this.#noFault()
    this.count++
    const endsIn = this.#chance.maybe(0.5) ? 'refuse' : 'lose'
    return {
      ...this.#noFault(),
      kind,
      ms: kind === 'hang' ? this.#hangMs(port) : this.#chance.int(1, 400),
      endsIn,
    }
  }

  isInOutage(kind: OutageKind): boolean {
    const now = this.#elapsed()
    return (
      !this.areStopped &&
      this.#plan.outages.some(outage => outage.kind === kind && now >= outage.fromMs && now < outage.untilMs)
    )
  }

  /** Draws the fault of the next handler run, if any. */
  handlerFault(): HandlerFault | undefined {
    if (this.areStopped) return undefined
    if (this.isInOutage('dependency-down')) return this.#recordFault('transient')
    let dice = this.#chance.random()
    for (const [handlerFault, rate] of Object.entries(this.#plan.handlerFaults)) {
      dice -= rate
      if (dice >= 0) continue
      const isCrash = handlerFault === 'crash' || handlerFault === 'crash-after'
      return isCrash && !this.#mayCrash() ? undefined : this.#recordFault(handlerFault as HandlerFault)
    }
    return undefined
  }

  /** Draws the working time of a handler or a sink: mostly 0, and always short after the fault phase. */
  workMs(): number {
    if (this.#chance.maybe(0.6)) return 0
    return this.#chance.int(0, this.areStopped ? FAULT_FREE_WORK_MS : this.#plan.workMs)
  }

  delayMs(mostMs: number): number {
    return this.#chance.int(0, mostMs)
  }

  maybe(probability: number): boolean {
    return this.#chance.maybe(probability)
  }

  #recordFault(handlerFault: HandlerFault): HandlerFault {
    this.count++
    return handlerFault
  }

  #noFault(): InjectedFault {
    const { latencyMs } = this.#plan
    if (latencyMs === 0 || this.#chance.maybe(0.5)) return NO_FAULT
    return { ...NO_FAULT, beforeMs: this.#chance.int(0, latencyMs), afterMs: this.#chance.int(0, latencyMs) }
  }

  #outageFault(port: Port): FaultKind | undefined {
    if (this.#plan.outages.length === 0) return undefined
    switch (port) {
      case 'store':
      case 'fleet':
      case 'server':
        return this.isInOutage('store-down') || this.isInOutage('disk-full')
          ? 'refuse'
          : this.isInOutage('store-hangs')
            ? 'hang'
            : undefined
      case 'spill':
      case 'journal':
        return this.isInOutage('disk-full') ? 'refuse' : undefined
      case 'ledger':
        return this.isInOutage('ledger-down') ? 'refuse' : undefined
      case 'sink':
        return this.isInOutage('sink-down') ? 'refuse' : undefined
      default:
        return undefined
    }
  }

  #drawKind(port: Port): FaultKind | undefined {
    const rates = this.#plan.rates[port]
    let dice = this.#chance.random()
    for (const kind of FAULT_KINDS) {
      dice -= rates[kind] ?? 0
      if (dice >= 0) continue
      const isCrash = kind === 'crash-before' || kind === 'crash-after'
      return isCrash && !this.#mayCrash() ? undefined : kind
    }
    return undefined
  }

  #mayCrash(): boolean {
    return this.#crashes++ < this.#plan.maxCrashes
  }

  #hangMs(port: Port): number {
    const longest = LONGEST_HANG_MS[port] ?? 20_000
    return Number.isFinite(longest) ? this.#chance.int(100, longest) : longest
  }
}
