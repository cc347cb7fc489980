import type { Delivery } from '../src/ports/broker.ts'
import type { Cancel, Clock } from '../src/ports/clock.ts'
import type { Fate, Port } from './faults.ts'
import type { Scene } from './scene.ts'

/** What the far side or the network failed with: to the code under test a reset connection. */
export class FateError extends Error {
  override readonly name = 'FateError'
  readonly code = 'ECONNRESET'
}

/**
 * One incarnation of a process, as a membrane: the code inside reaches the world only through `clock`, `cross` and
 * `breathe`. Once it has ended, none of them ever answers again, and that is all it takes to be dead.
 */
export class Process implements Clock {
  readonly name: string
  readonly scene: Scene
  isAlive = true
  /** Timers of the code under test that have not fired: what a process that closed must not have. */
  timers = 0
  /** When the ledger was asked for the claim that was given: there an attempt is made up the mind to. */
  readonly #asked = new Map<string, number>()
  readonly #cancels = new Set<Cancel>()
  readonly #atEnd: (() => void)[] = []
  readonly #onCrash: () => void

  constructor(name: string, scene: Scene, onCrash: () => void) {
    this.name = name
    this.scene = scene
    this.#onCrash = onCrash
  }

  now(): number {
    return this.scene.clock.now()
  }

  schedule(delayMs: number, task: () => void): Cancel {
    if (!this.isAlive) return () => {}
    const fate = this.scene.faults.fate('timer')
    const lateMs = fate.kind === 'late' ? fate.ms : 0
    if (lateMs > 0) this.#tell('timer', 'fire', fate)
    this.timers++
    let isOpen = true
    const close = () => {
      if (!isOpen) return
      isOpen = false
      this.timers--
    }
    const cancel = this.#later(delayMs + lateMs, () => {
      close()
      this.guard(() => task())
    })
    return () => {
      close()
      cancel()
    }
  }

  /** A wait of the world inside this process: of a handler at work, of a call on its way. Never ends for the dead. */
  breathe(ms: number): Promise<void> {
    return new Promise(resolve => {
      if (ms === 0 && this.isAlive) resolve()
      else if (Number.isFinite(ms)) this.#later(ms, resolve)
    })
  }

  /** The code under test is called from outside. What it throws there nobody catches: it would take the process down. */
  guard(call: () => void): void {
    try {
      call()
    } catch (error) {
      const told = `nobody caught: ${String(error)}`
      this.scene.journal.note({ what: 'mistake', consumer: this.name, handler: '', error: told })
      this.crash()
    }
  }

  /** A call to the outside. Where fate lets it pass at once it is as synchronous as the effect itself. */
  cross<T>(port: Port, call: string, effect: () => T | Promise<T>): T | Promise<T> {
    if (!this.isAlive) return never()
    const fate = this.scene.faults.fate(port)
    if (fate.kind !== 'pass') this.#tell(port, call, fate)
    else if (fate.beforeMs === 0 && fate.afterMs === 0) return effect()
    return this.#suffer(fate, effect)
  }

  async #suffer<T>(fate: Fate, effect: () => T | Promise<T>): Promise<T> {
    await this.breathe(fate.beforeMs)
    if (fate.kind === 'crash-before') this.crash()
    if (fate.kind === 'hang') await this.breathe(fate.ms)
    const isRefused = fate.kind === 'refuse' || (fate.kind === 'hang' && fate.endsIn === 'refuse')
    if (isRefused) throw new FateError('refused')
    if (!this.isAlive) return never()
    const result = await effect()
    if (fate.kind === 'crash-after') this.crash()
    await this.breathe(fate.afterMs)
    if (fate.kind === 'lose' || fate.kind === 'hang') throw new FateError('the answer is lost')
    return this.isAlive ? result : never()
  }

  claimed(handler: string, key: string, askedAt: number): void {
    this.#asked.set(`${handler} ${key}`, askedAt)
  }

  takeAsked(handler: string, { content }: Delivery): number {
    const key = 'id' in content ? `${handler} ${content.idempotencyKey}` : ''
    const askedAt = this.#asked.get(key) ?? this.scene.clock.elapsedMs
    this.#asked.delete(key)
    return askedAt
  }

  /** Whoever keeps something for the process in the world is told when it has ended: the broker notices, some day. */
  atEnd(task: () => void): void {
    this.#atEnd.push(task)
  }

  crash(): void {
    if (!this.isAlive) return
    this.end()
    this.#onCrash()
  }

  /** Out of the world, as after a crash or a proper exit. */
  end(): void {
    this.isAlive = false
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
    for (const task of this.#atEnd.splice(0)) task()
  }

  #later(ms: number, task: () => void): Cancel {
    if (!this.isAlive) return () => {}
    const cancelTimer = this.scene.clock.schedule(ms, () => {
      this.#cancels.delete(cancel)
      task()
    })
    const cancel = () => {
      this.#cancels.delete(cancel)
      cancelTimer()
    }
    this.#cancels.add(cancel)
    return cancel
  }

  #tell(port: Port, call: string, { kind }: Fate): void {
    if (kind !== 'pass') this.scene.journal.note({ what: 'fault', where: this.name, port, call, kind })
  }
}

/** A new one each time: what waits for it can be forgotten together with it. */
export function never<T>(): Promise<T> {
  return new Promise(() => {})
}
