import { memoryBroker } from '../src/adapters/memory/broker/broker.ts'
import { memoryLedger } from '../src/adapters/memory/ledger/ledger.ts'
import { memoryDeadLetters } from '../src/adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import { Chance } from './chance.ts'
import { checkAll } from './checkers/all.ts'
import type { Ended, Violation } from './checkers/checker.ts'
import { startCleanup } from './cleanup.ts'
import { WorldClock } from './clock.ts'
import type { Deed } from './draw-faults.ts'
import { Faults } from './faults.ts'
import { Journal } from './journal.ts'
import { Machine } from './machine.ts'
import { Operator } from './operator.ts'
import type { EventPlan, Nature } from './plan.ts'
import { Producer } from './producer.ts'
import type { Scene } from './scene.ts'
import { Stranger } from './stranger.ts'
import { drawPlan } from './world.ts'

/**
 * A world that has not come to rest by then never will; its clock may have been set back meanwhile. The slowest that is
 * right: every event fails by nature, and a breaker that opens for half a minute lets one probe through each time.
 */
const REST_WITHIN_MS = 2 * 60 * 60_000
const LOOK_EVERY_MS = 1_000
const TENDED_EVERY_MS = 5_000
/** What hung when faults stopped has come to its end by then, and what it led to as well. */
const HANGS_END_WITHIN_MS = 30_000

export interface Outcome {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly events: number
  readonly faults: number
  readonly journal: Journal
}

/**
 * A world from its first moment to its last: the storm, the calm, rest, the end. Stacks are not taken: they cost more than
 * all the rest, and where the code lies must not make a difference to what happens in it.
 */
export async function simulate(seed: number): Promise<Outcome> {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return await run(seed)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

async function run(seed: number): Promise<Outcome> {
  const drawn = drawPlan(seed)
  const events = new Map(drawn.events)
  const plan = { ...drawn, events }
  const added = new Map<string, LazaretEvent>()
  const clock = new WorldClock()
  const elapsed = () => clock.elapsedMs
  let numbers = 0
  const scene: Scene = {
    plan,
    clock,
    journal: new Journal(elapsed),
    faults: new Faults(plan.weather, new Chance(seed, 6), elapsed),
    broker: memoryBroker({ clock }),
    store: memoryDeadLetters(),
    ledger: memoryLedger({ clock, random: new Chance(seed, 7).random }),
    extraChance: new Chance(seed, 10),
    addEvent: (event, nature) => {
      added.set(event.id, event)
      events.set(event.id, addedPlan(event, nature, elapsed()))
    },
    nextNumber: () => ++numbers,
  }
  const world = new World(scene, added)
  await world.open()
  await clock.advance(plan.stormMs)
  world.calmDown()
  const isAtRest = await world.comeToRest()
  const ended = await world.end(isAtRest)
  const violations = checkAll(ended)
  return {
    seed,
    violations,
    events: plan.events.size + plan.tracks.size,
    faults: scene.faults.count,
    journal: scene.journal,
  }
}

function addedPlan(
  { id, channel, key, idempotencyKey }: LazaretEvent,
  nature: Nature,
  publishMs: number,
): EventPlan {
  return {
    name: id,
    channel,
    nature,
    key,
    idempotencyKey,
    publishMs,
    lifeMs: undefined,
    unworthy: false,
    isPlanned: false,
  }
}

class World {
  readonly #scene: Scene
  readonly #added: ReadonlyMap<string, LazaretEvent>
  readonly #machines: readonly Machine[]
  readonly #producer: Producer
  readonly #operator: Operator
  #hasResent = false
  #endCleanup: () => Promise<void> = async () => {}

  constructor(scene: Scene, added: ReadonlyMap<string, LazaretEvent>) {
    this.#scene = scene
    this.#added = added
    this.#machines = scene.plan.machines.map(machine => new Machine(machine, scene))
    this.#producer = new Producer(scene)
    this.#operator = new Operator(scene)
    new Stranger(scene)
  }

  async open(): Promise<void> {
    const { plan, broker, clock, faults } = this.#scene
    // A queue gets what is published after it was made, so all are made first.
    for (const { channel, name: handler, ordering } of plan.handlers) {
      const subscription = await broker.subscribe({ channel, handler, prefetch: 1, ordering }, () => {})
      await subscription.close()
    }
    this.#endCleanup = startCleanup(this.#scene)
    for (const machine of this.#machines) clock.schedule(faults.delayMs(50), () => machine.boot())
    for (const track of plan.tracks.values())
      clock.schedule(track.atMs, () => this.#machine(track.machine).track(track))
    for (const atMs of plan.extras.replaysAtMs) clock.schedule(atMs, () => void this.#operator.replay())
    for (const deed of plan.deeds) clock.schedule(deed.atMs, () => this.#do(deed))
  }

  calmDown(): void {
    const { faults, journal, clock } = this.#scene
    faults.isCalm = true
    journal.note({ what: 'calm' })
    for (const machine of this.#machines) {
      machine.force('auto')
      machine.resume()
      // In the midst of their work, and with nothing in their way.
      if (faults.maybe(0.3))
        clock.schedule(faults.delayMs(1_000), () => void machine.close({ thenBoot: true }))
    }
  }

  async comeToRest(): Promise<boolean> {
    const { clock } = this.#scene
    const until = clock.elapsedMs + REST_WITHIN_MS + this.#setBackMs()
    if (this.#scene.journal.of('fault').some(({ kind }) => kind === 'hang'))
      await clock.advance(HANGS_END_WITHIN_MS)
    for (let tendedAt = 0; clock.elapsedMs < until; ) {
      if ((await this.#isAtRest()) && !(await this.#findsMoreToDo())) return true
      if (clock.elapsedMs >= tendedAt + TENDED_EVERY_MS) {
        tendedAt = clock.elapsedMs
        await this.#operator.letGo()
      }
      await clock.advance(LOOK_EVERY_MS)
    }
    return false
  }

  async end(isAtRest: boolean): Promise<Ended> {
    const { plan, journal, clock, store, broker } = this.#scene
    const closing = Promise.all(this.#machines.map(machine => machine.close({ thenBoot: false })))
    await clock.advance(120_000)
    await Promise.race([closing, Promise.resolve()])
    void this.#endCleanup()
    const depths = Object.fromEntries(
      plan.handlers.map(({ channel, name }) => [name, broker.depth(channel, name)]),
    )
    const { letters } = await store.list({ limit: 1_000 })
    const kept = [...broker.deadLetters, ...this.#operator.discarded]
    await broker.close()
    await clock.advance(1_000)
    return {
      plan,
      journal,
      sent: new Map([...this.#producer.sent, ...this.#added]),
      letters: [...letters, ...kept],
      spilled: await this.#spilled(),
      journals: Object.fromEntries(this.#machines.map(({ name, disk }) => [name, disk.journal.size])),
      isAtRest,
      timers: clock.pending,
      depths,
    }
  }

  async #isAtRest(): Promise<boolean> {
    const { plan, broker, store } = this.#scene
    if (!this.#producer.isDone || !this.#machines.every(({ isUp, isFlushed }) => isUp && isFlushed))
      return false
    if (plan.handlers.some(({ channel, name }) => broker.depth(channel, name) > 0)) return false
    if ((await this.#spilled()) > 0) return false
    return (await store.list({ state: 'replaying' })).letters.length === 0
  }

  /** What could not be removed from a journal is sent once more by the next process; letters of sinks are sent again. */
  async #findsMoreToDo(): Promise<boolean> {
    const unrecovered = this.#machines.filter(({ disk }) => disk.journal.size > 0)
    for (const machine of unrecovered) void machine.close({ thenBoot: true })
    if (unrecovered.length > 0) return true
    if (this.#hasResent || this.#scene.plan.tracks.size === 0) return false
    this.#hasResent = true
    const { tracks } = this.#scene.plan
    await this.#operator.resend(event => this.#machine(tracks.get(event)?.machine ?? ''))
    return true
  }

  async #spilled(): Promise<number> {
    const sizes = await Promise.all(this.#machines.map(({ disk }) => disk.spill.size()))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  #setBackMs(): number {
    return this.#scene.journal.of('jumped').reduce((sum, { ms }) => sum + Math.abs(ms), 0)
  }

  #machine(wanted: string): Machine {
    return this.#machines.find(({ name }) => name === wanted) as Machine
  }

  #do(deed: Deed): void {
    const { clock, journal, faults } = this.#scene
    faults.count++
    if (deed.kind === 'jump') {
      clock.jump(deed.ms)
      journal.note({ what: 'jumped', ms: deed.ms })
      return
    }
    journal.note({ what: 'deed', told: [deed.kind, 'machine' in deed ? deed.machine : ''].join(' ') })
    if (deed.kind === 'repeat') this.#producer.repeat()
    else if (deed.kind === 'replay') void this.#operator.replay()
    else if (deed.kind === 'letGo') void this.#operator.letGo()
    else if (deed.kind === 'force') this.#machine(deed.machine).force(deed.to)
    else if (deed.kind === 'restart') void this.#machine(deed.machine).close({ thenBoot: true })
    else this.#machine(deed.machine)[deed.kind]()
  }
}
