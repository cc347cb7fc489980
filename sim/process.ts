import type { Delivery } from '../src/ports/broker.ts'
import type { Cancel, Clock } from '../src/ports/clock.ts'
import type { InjectedFault, Port } from './faults.ts'
import type { World } from './world.ts'

/** The error of the receiver or the network: to the code under test it is a reset connection. */
export class InjectedError extends Error {
  override readonly name = 'InjectedError'
  readonly code = 'ECONNRESET'
}

/**
 * One process between its start and its end. The code under test reaches the world only through `schedule`, `callPort`
 * and `wait`. After the end none of them answers any more, which is all that a crash means to the code.
 */
export class Process implements Clock {
  readonly name: string
  readonly world: World
  isAlive = true
  /** The timers of the code under test that have not fired. A closed process must have none. */
  timers = 0
  /** The time of each claim request. At that time the consumer has decided on the attempt. */
  readonly #claimAskedAt = new Map<string, number>()
  readonly #cancels = new Set<Cancel>()
  readonly #atEnd: (() => void)[] = []
  readonly #onCrash: () => void

  constructor(name: string, world: World, onCrash: () => void) {
    this.name = name
    this.world = world
    this.#onCrash = onCrash
  }

  now(): number {
    return this.world.clock.now()
  }

  monotonic(): number {
    return this.world.clock.monotonic()
  }

  schedule(delayMs: number, task: () => void): Cancel {
    if (!this.isAlive) return () => {}
    const fault = this.world.faults.inject('timer')
    const lateMs = fault.kind === 'late' ? fault.ms : 0
    if (lateMs > 0) this.#recordFault('timer', 'fire', fault)
    this.timers++
    let isOpen = true
    const close = () => {
      if (!isOpen) return
      isOpen = false
      this.timers--
    }
    const cancel = this.#later(delayMs + lateMs, () => {
      close()
      this.runInside(() => task())
    })
    return () => {
      close()
      cancel()
    }
  }

  /** Waits inside this process, for a handler at work or a call on its way. The wait never ends in a dead process. */
  wait(ms: number): Promise<void> {
    return new Promise(resolve => {
      if (ms === 0 && this.isAlive) resolve()
      else if (Number.isFinite(ms)) this.#later(ms, resolve)
    })
  }

  /**
   * Calls the code under test from outside. No one catches an error here, so the error crashes the process and is a
   * bug.
   */
  runInside(call: () => void): void {
    try {
      call()
    } catch (error) {
      const description = `uncaught: ${String(error)}`
      this.world.history.record({
        what: 'unexpectedError',
        consumer: this.name,
        handler: '',
        error: description,
      })
      this.crash()
    }
  }

  /**
   * Calls a port of the world, with the fault that is drawn for it. Without fault and latency the call is as
   * synchronous as its effect.
   */
  callPort<T>(port: Port, call: string, effect: () => T | Promise<T>): T | Promise<T> {
    if (!this.isAlive) return never()
    const fault = this.world.faults.inject(port)
    if (fault.kind !== 'none') this.#recordFault(port, call, fault)
    else if (fault.beforeMs === 0 && fault.afterMs === 0) return effect()
    return this.#callWithFault(fault, effect)
  }

  async #callWithFault<T>(fault: InjectedFault, effect: () => T | Promise<T>): Promise<T> {
    await this.wait(fault.beforeMs)
    if (fault.kind === 'crash-before') this.crash()
    if (fault.kind === 'hang') await this.wait(fault.ms)
    const isRefused = fault.kind === 'refuse' || (fault.kind === 'hang' && fault.endsIn === 'refuse')
    if (isRefused) throw new InjectedError('refused')
    if (!this.isAlive) return never()
    const result = await effect()
    if (fault.kind === 'crash-after') this.crash()
    await this.wait(fault.afterMs)
    if (fault.kind === 'lose' || fault.kind === 'hang') throw new InjectedError('the answer is lost')
    return this.isAlive ? result : never()
  }

  recordClaim(handler: string, key: string, askedAt: number): void {
    this.#claimAskedAt.set(`${handler} ${key}`, askedAt)
  }

  takeClaimTime(handler: string, { content }: Delivery): number {
    const key = 'id' in content ? `${handler} ${content.idempotencyKey}` : ''
    const askedAt = this.#claimAskedAt.get(key) ?? this.world.clock.elapsedMs
    this.#claimAskedAt.delete(key)
    return askedAt
  }

  /** Calls the listeners in the world when the process has ended: the broker notices the end after some time. */
  atEnd(task: () => void): void {
    this.#atEnd.push(task)
  }

  crash(): void {
    if (!this.isAlive) return
    this.end()
    this.#onCrash()
  }

  /** Ends the process, after a crash or a regular exit. */
  end(): void {
    this.isAlive = false
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
    for (const task of this.#atEnd.splice(0)) task()
  }

  #later(ms: number, task: () => void): Cancel {
    if (!this.isAlive) return () => {}
    const cancelTimer = this.world.clock.schedule(ms, () => {
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

  #recordFault(port: Port, call: string, { kind }: InjectedFault): void {
    if (kind !== 'none') this.world.history.record({ what: 'fault', where: this.name, port, call, kind })
  }
}

/**
 * A promise that never settles. Each caller gets its own, so that the garbage collector can free it with its waiters.
 */
export function never<T>(): Promise<T> {
  return new Promise(() => {})
}
