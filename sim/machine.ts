import { memoryJournal } from '../src/adapters/memory/journal/journal.ts'
import { memorySpill } from '../src/adapters/memory/letters/spill.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import type { Consumer } from '../src/runtime/consumer/consumer.ts'
import type { FleetMembership } from '../src/runtime/fleet/join-fleet.ts'
import { Chance } from './chance.ts'
import { Connection } from './connection.ts'
import { createConsumers } from './consumers.ts'
import { Emitter } from './emitter.ts'
import { joinWith } from './member.ts'
import type { MachinePlan, TrackPlan } from './plan.ts'
import { Process } from './process.ts'
import { letterClients } from './stores.ts'
import type { World } from './world.ts'

/** After the grace time a consumer has five steps with a time limit each, and late timers can lengthen each step. */
const CLOSE_ALLOWED_MS = 5 * (5_000 + 500)
/** The shared deadline timer fires once more after the last attempt. */
const LAST_LOOK_MS = 500

/** The process of a machine and its parts. */
interface Running {
  readonly process: Process
  readonly connection: Connection
  readonly consumers: readonly Consumer[]
  readonly emitter: Emitter | undefined
  readonly membership: FleetMembership | undefined
}

/** A machine runs one process at a time and starts the next one after its end. The disk outlives the processes. */
export class Machine {
  readonly disk = { spill: memorySpill(), journal: memoryJournal() }
  readonly #plan: MachinePlan
  readonly #world: World
  #incarnation = 0
  #running: Running | undefined
  #isClosing = false
  readonly #toTrack: TrackPlan[] = []

  constructor(plan: MachinePlan, world: World) {
    this.#plan = plan
    this.#world = world
  }

  get name(): string {
    return this.#plan.name
  }

  get isUp(): boolean {
    return this.#running !== undefined && !this.#isClosing
  }

  /** Whether every tracked event has a durable outcome. */
  get isFlushed(): boolean {
    return this.#running?.emitter?.isFlushed ?? true
  }

  boot(): void {
    if (this.#running !== undefined) return
    const { plan, history } = this.#world
    const name = `${this.name}.${++this.#incarnation}`
    history.record({ what: 'machineStarted', machine: name })
    const process = new Process(name, this.#world, () => this.#crashed(name))
    const connection = new Connection(process)
    const letters = letterClients(process, this.disk.spill)
    const random = new Chance(plan.seed, 1_000 + this.#incarnation * 10 + name.charCodeAt(1)).random
    const consumers = createConsumers(process, this.#plan.handlers, { broker: connection, random, letters })
    const { emitter: emits } = this.#plan
    const emitter = emits && new Emitter(process, emits, { letters, random, journal: this.disk.journal })
    const service = plan.fleet?.services[this.name]
    const membership =
      service === undefined ? undefined : joinWith(process, service, consumers, emitter?.dispatcher)
    this.#running = { process, connection, consumers, emitter, membership }
    for (const plan of this.#toTrack.splice(0)) this.track(plan)
    for (const consumer of consumers) this.#start(process, consumer)
  }

  /** Tracks an event in the current process. Without a process the event waits for the next one. */
  track(plan: TrackPlan): void {
    if (this.isUp) this.#running?.emitter?.track(plan)
    else this.#toTrack.push(plan)
  }

  resend(letter: DeadLetter): Promise<unknown> | undefined {
    return this.#running?.emitter?.resend(letter)
  }

  crash(): void {
    this.#running?.process.crash()
  }

  disconnect(): void {
    for (const subscription of this.#running?.connection.subscriptions ?? []) subscription.breakConnection()
  }

  pause(): void {
    for (const consumer of this.#running?.consumers ?? []) consumer.pause()
  }

  resume(): void {
    for (const consumer of this.#running?.consumers ?? []) consumer.resume()
  }

  force(to: 'open' | 'closed' | 'auto'): void {
    for (const consumer of this.#running?.consumers ?? []) consumer.breaker?.force(to, 'operator')
    this.#running?.emitter?.force(to)
  }

  /** Closes gracefully, and starts again if wanted. Resolves when it is closed, or never if it crashes meanwhile. */
  async close({ thenBoot }: { readonly thenBoot: boolean }): Promise<void> {
    if (this.#running === undefined || this.#isClosing) return
    const { process, consumers, emitter, membership } = this.#running
    const { history, clock, faults } = this.#world
    this.#isClosing = true
    if (membership !== undefined) {
      const at = clock.elapsedMs
      await membership.close()
      history.record({ what: 'left', by: process.name, tookMs: clock.elapsedMs - at })
    }
    history.record({ what: 'machineClosing', machine: process.name })
    const since = clock.elapsedMs
    const closings = consumers.map(consumer => consumer.close())
    if (emitter !== undefined) closings.push(emitter.close())
    // Closing twice is safe, and waits for the same end.
    if (faults.maybe(0.3)) closings.push(...consumers.map(consumer => consumer.close({ graceMs: 0 })))
    await Promise.all(closings)
    const tookMs = clock.elapsedMs - since
    await process.wait(LAST_LOOK_MS)
    history.record({
      what: 'machineClosed',
      machine: process.name,
      tookMs,
      graceMs: this.#graceMs(),
      allowedMs: this.#graceMs() + CLOSE_ALLOWED_MS,
      timers: process.timers,
      ...unfinishedWork(this.#running),
    })
    process.end()
    this.#down(thenBoot)
  }

  #graceMs(): number {
    const { handlers, emitter } = this.#plan
    return Math.max(...handlers.map(({ graceMs }) => graceMs), emitter?.graceMs ?? 0)
  }

  #start(process: Process, consumer: Consumer): void {
    consumer.start().catch(() => {
      // The supervisor of the process tries again.
      if (process.isAlive && !this.#isClosing)
        this.#world.clock.schedule(500, () => this.#start(process, consumer))
    })
  }

  #crashed(name: string): void {
    this.#world.history.record({ what: 'machineCrashed', machine: name })
    this.#down(true)
  }

  #down(thenBoot: boolean): void {
    this.#running = undefined
    this.#isClosing = false
    if (thenBoot) this.#world.clock.schedule(this.#world.faults.delayMs(1_500), () => this.boot())
  }
}

function unfinishedWork({ consumers, emitter }: Running): {
  readonly active: number
  readonly waiting: number
} {
  const health = consumers.map(consumer => consumer.health())
  const left = emitter?.left ?? { active: 0, waiting: 0 }
  return {
    active: health.reduce((sum, { active }) => sum + active, left.active),
    waiting: health.reduce((sum, { waiting }) => sum + waiting, left.waiting),
  }
}
