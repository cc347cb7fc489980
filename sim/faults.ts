import type { Chance } from './chance.ts'

/**
 * The fault model. Everything a process does to the world goes through a port, and at each crossing fate may strike:
 *
 * - `refuse`: the call fails and nothing came of it.
 * - `lose`: it took effect, but the answer is lost: the caller hears of a failure.
 * - `hang`: no answer for long. A dead-letter store may hang for ever, and so may a sink: both are called with a
 *   time limit of ours. Of broker, ledger and spill a client is expected that gives up some day, and then the call is
 *   refused or lost.
 * - `crash-before`, `crash-after`: the process dies before or after the effect. Nothing of it does anything from endsIn,
 *   on: its calls never return, its timers never fire, its handlers stop where they are.
 * - `late`: a timer fires after its time, a delivery arrives after its time.
 *
 * Over these lie spells, in which one thing is wrong for everybody for a while, and deeds: what people and networks do
 * at a certain time. All of it stops when the world calms down. From then on only what an event is by nature still fails.
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

export type SpellKind =
  | 'store-down'
  | 'store-hangs'
  | 'ledger-down'
  | 'disk-full'
  | 'dependency-sick'
  | 'sink-down'

export interface Spell {
  readonly kind: SpellKind
  readonly fromMs: number
  readonly untilMs: number
}

/** What a handler does when it does not do what it should. */
export type Misdeed =
  | 'transient'
  | 'retry-after'
  | 'integration'
  | 'permanent'
  | 'schema'
  | 'unknown'
  | 'odd'
  | 'hang'
  | 'ignore'
  | 'slow'
  | 'crash'
  | 'crash-after'
  /** It ignores its signal and ends after its deadline. Only in worlds with extras. */
  | 'late-success'
  | 'late-failure'
  /** It throws a value that cannot be looked at. Only in worlds with extras. */
  | 'hostile'

export interface Weather {
  readonly rates: { readonly [P in Port]: { readonly [K in FaultKind]?: number } }
  readonly misdeeds: { readonly [M in Misdeed]?: number }
  readonly spells: readonly Spell[]
  /** Of a crossing that works, each way. */
  readonly latencyMs: number
  readonly maxCrashes: number
  /** How long a handler or a sink is at work, at most. */
  readonly workMs: number
}

export interface Fate {
  readonly kind: FaultKind | 'pass'
  readonly beforeMs: number
  readonly afterMs: number
  /** Of a hang, and of what is late. */
  readonly ms: number
  /** How a hang ends. */
  readonly endsIn: 'refuse' | 'lose'
}

const PASS: Fate = { kind: 'pass', beforeMs: 0, afterMs: 0, ms: 0, endsIn: 'refuse' }
const CALM_WORK_MS = 60
const FAULT_KINDS = ['refuse', 'lose', 'hang', 'crash-before', 'crash-after', 'late'] as const
const LONGEST_HANG_MS: { readonly [P in Port]?: number } = {
  subscribe: 60_000,
  store: Number.POSITIVE_INFINITY,
  sink: Number.POSITIVE_INFINITY,
}

export class Faults {
  /** How many have struck. */
  count = 0
  isCalm = false
  #crashes = 0
  readonly #weather: Weather
  readonly #chance: Chance
  readonly #elapsed: () => number

  constructor(weather: Weather, chance: Chance, elapsed: () => number) {
    this.#weather = weather
    this.#chance = chance
    this.#elapsed = elapsed
  }

  fate(port: Port): Fate {
    if (this.isCalm) return this.#passing()
    const kind = this.#spellOver(port) ?? this.#drawKind(port)
    if (kind === undefined) return this.#passing()
    this.count++
    const endsIn = this.#chance.maybe(0.5) ? 'refuse' : 'lose'
    return {
      ...this.#passing(),
      kind,
      ms: kind === 'hang' ? this.#hangMs(port) : this.#chance.int(1, 400),
      endsIn,
    }
  }

  isSpell(kind: SpellKind): boolean {
    const now = this.#elapsed()
    return (
      !this.isCalm &&
      this.#weather.spells.some(spell => spell.kind === kind && now >= spell.fromMs && now < spell.untilMs)
    )
  }

  /** What a handler will do instead of its work, if anything. */
  misdeed(): Misdeed | undefined {
    if (this.isCalm) return undefined
    if (this.isSpell('dependency-sick')) return this.#struck('transient')
    let dice = this.#chance.random()
    for (const [misdeed, rate] of Object.entries(this.#weather.misdeeds)) {
      dice -= rate
      if (dice >= 0) continue
      const isCrash = misdeed === 'crash' || misdeed === 'crash-after'
      return isCrash && !this.#mayCrash() ? undefined : this.#struck(misdeed as Misdeed)
    }
    return undefined
  }

  /** How long a handler or a sink is at work: most do it at once, and all are quick in the calm. */
  workMs(): number {
    if (this.#chance.maybe(0.6)) return 0
    return this.#chance.int(0, this.isCalm ? CALM_WORK_MS : this.#weather.workMs)
  }

  delayMs(mostMs: number): number {
    return this.#chance.int(0, mostMs)
  }

  maybe(probability: number): boolean {
    return this.#chance.maybe(probability)
  }

  #struck(misdeed: Misdeed): Misdeed {
    this.count++
    return misdeed
  }

  #passing(): Fate {
    const { latencyMs } = this.#weather
    if (latencyMs === 0 || this.#chance.maybe(0.5)) return PASS
    return { ...PASS, beforeMs: this.#chance.int(0, latencyMs), afterMs: this.#chance.int(0, latencyMs) }
  }

  #spellOver(port: Port): FaultKind | undefined {
    if (this.#weather.spells.length === 0) return undefined
    switch (port) {
      case 'store':
        return this.isSpell('store-down') || this.isSpell('disk-full')
          ? 'refuse'
          : this.isSpell('store-hangs')
            ? 'hang'
            : undefined
      case 'spill':
      case 'journal':
        return this.isSpell('disk-full') ? 'refuse' : undefined
      case 'ledger':
        return this.isSpell('ledger-down') ? 'refuse' : undefined
      case 'sink':
        return this.isSpell('sink-down') ? 'refuse' : undefined
      default:
        return undefined
    }
  }

  #drawKind(port: Port): FaultKind | undefined {
    const rates = this.#weather.rates[port]
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
    return this.#crashes++ < this.#weather.maxCrashes
  }

  #hangMs(port: Port): number {
    const longest = LONGEST_HANG_MS[port] ?? 20_000
    return Number.isFinite(longest) ? this.#chance.int(100, longest) : longest
  }
}
