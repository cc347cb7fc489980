import { memoryBroker } from '../src/adapters/memory/broker/broker.ts'
import { memoryLedger } from '../src/adapters/memory/ledger/ledger.ts'
import { memoryDeadLetters } from '../src/adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import { Chance } from './chance.ts'
import { checkAll } from './checkers/all.ts'
import type { EndedWorld, Violation } from './checkers/checker.ts'
import { startCleanup } from './cleanup.ts'
import { WorldClock } from './clock.ts'
import { CONNECTION_NAME } from './connection.ts'
import type { PlannedAction } from './draw-faults.ts'
import { drawPlan } from './draw-plan.ts'
import { Faults } from './faults.ts'
import { FleetOperator } from './fleet-operator.ts'
import { FleetServerSide } from './fleet-server-side.ts'
import { Forger } from './forger.ts'
import { History } from './history.ts'
import { Machine } from './machine.ts'
import { Operator } from './operator.ts'
import type { EventKind, EventPlan } from './plan.ts'
import { Producer } from './producer.ts'
import type { World } from './world.ts'

/**
 * The time limit for becoming idle after the faults stop, however the clock was set before. In the slowest correct world
 * every event fails, and a breaker that opens for half a minute admits one probe each time.
 */
const IDLE_WITHIN_MS = 2 * 60 * 60_000
const CHECK_EVERY_MS = 1_000
const UNBLOCK_EVERY_MS = 5_000
/** Calls that hung at the end of the fault phase have ended by then, with their consequences. */
const HANGS_END_WITHIN_MS = 30_000

export interface WorldResult {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly events: number
  readonly faults: number
  readonly history: History
}

/**
 * Runs one world: the fault phase, the fault-free phase until it is idle, and the close. Then the checkers read its
 * history. Stack traces are off: they cost more than everything else, and file paths must not change the result.
 */
export async function simulate(seed: number): Promise<WorldResult> {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return await run(seed)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

async function run(seed: number): Promise<WorldResult> {
  const drawn = drawPlan(seed)
  const events = new Map(drawn.events)
  const plan = { ...drawn, events }
  const added = new Map<string, LazaretEvent>()
  const clock = new WorldClock()
  const elapsed = () => clock.elapsedMs
  let numbers = 0
  const world: World = {
    plan,
    clock,
    history: new History(elapsed),
    faults: new Faults(plan.faultPlan, new Chance(seed, 6), elapsed),
    // Processes report the name of their connection, and letters name their broker: a fleet compares both.
    broker: memoryBroker({ clock, ...(plan.fleet && { name: CONNECTION_NAME }) }),
    store: memoryDeadLetters(),
    ledger: memoryLedger({ clock, random: new Chance(seed, 7).random }),
    fleet: plan.fleet && new FleetServerSide(clock),
    extraChance: new Chance(seed, 10),
    addEvent: (event, eventKind) => {
      added.set(event.id, event)
      events.set(event.id, addedPlan(event, eventKind, elapsed()))
    },
    nextNumber: () => ++numbers,
  }
  const simulation = new Simulation(world, added)
  await simulation.open()
  await clock.advance(plan.faultPhaseMs)
  simulation.stopFaults()
  const isIdle = await simulation.runUntilIdle()
  const ended = await simulation.end(isIdle)
  const violations = checkAll(ended)
  return {
    seed,
    violations,
    events: plan.events.size + plan.tracks.size,
    faults: world.faults.count,
    history: world.history,
  }
}

function addedPlan(
  { id, channel, key, idempotencyKey }: LazaretEvent,
  eventKind: EventKind,
  publishMs: number,
): EventPlan {
  return {
    name: id,
    channel,
    eventKind,
    key,
    idempotencyKey,
    publishMs,
    expiresInMs: undefined,
    isFiltered: false,
    isPlanned: false,
  }
}

class Simulation {
  readonly #world: World
  readonly #added: ReadonlyMap<string, LazaretEvent>
  readonly #machines: readonly Machine[]
  readonly #producer: Producer
  readonly #operator: Operator
  #fleetOperator: FleetOperator | undefined
  #hasResent = false
  #endCleanup: () => Promise<void> = async () => {}

  constructor(world: World, added: ReadonlyMap<string, LazaretEvent>) {
    this.#world = world
    this.#added = added
    this.#machines = world.plan.machines.map(machine => new Machine(machine, world))
    this.#producer = new Producer(world)
    this.#operator = new Operator(world)
    new Forger(world)
  }

  async open(): Promise<void> {
    const { plan, broker, clock, faults } = this.#world
    // A queue gets only events that are published after it was created, so all queues are created first.
    for (const { channel, name: handler, ordering } of plan.handlers) {
      const subscription = await broker.subscribe({ channel, handler, prefetch: 1, ordering }, () => {})
      await subscription.close()
    }
    this.#endCleanup = startCleanup(this.#world)
    for (const machine of this.#machines) clock.schedule(faults.delayMs(50), () => machine.boot())
    for (const track of plan.tracks.values())
      clock.schedule(track.atMs, () => this.#machine(track.machine).track(track))
    for (const atMs of plan.extras.replaysAtMs) clock.schedule(atMs, () => void this.#operator.replay())
    this.#fleetOperator = plan.fleet && new FleetOperator(this.#world, plan.fleet)
    for (const action of plan.actions) clock.schedule(action.atMs, () => this.#do(action))
  }

  stopFaults(): void {
    const { faults, history, clock } = this.#world
    faults.areStopped = true
    history.record({ what: 'faultsStopped' })
    for (const machine of this.#machines) {
      machine.force('auto')
      machine.resume()
      // Some machines restart in the middle of their work, without faults.
      if (faults.maybe(0.3))
        clock.schedule(faults.delayMs(1_000), () => void machine.close({ thenBoot: true }))
    }
  }

  async runUntilIdle(): Promise<boolean> {
    const { clock } = this.#world
    const until = clock.elapsedMs + IDLE_WITHIN_MS
    if (this.#world.history.of('fault').some(({ kind }) => kind === 'hang'))
      await clock.advance(HANGS_END_WITHIN_MS)
    for (let unblockedAt = 0; clock.elapsedMs < until; ) {
      if ((await this.#isIdle()) && !(await this.#hasMoreWork())) return true
      if (clock.elapsedMs >= unblockedAt + UNBLOCK_EVERY_MS) {
        unblockedAt = clock.elapsedMs
        await this.#operator.unblockKey()
        this.#fleetOperator?.tidyUp()
      }
      await clock.advance(CHECK_EVERY_MS)
    }
    return false
  }

  async end(isIdle: boolean): Promise<EndedWorld> {
    const { plan, history, clock, store, broker } = this.#world
    const openReplays = (await this.#fleetOperator?.openReplays()) ?? []
    const closing = Promise.all(this.#machines.map(machine => machine.close({ thenBoot: false })))
    await clock.advance(120_000)
    await Promise.race([closing, Promise.resolve()])
    void this.#endCleanup()
    if (this.#fleetOperator !== undefined) {
      void this.#fleetOperator.close()
      await clock.advance(60_000)
    }
    const depths = Object.fromEntries(
      plan.handlers.map(({ channel, name }) => [name, broker.depth(channel, name)]),
    )
    const { letters } = await store.list({ limit: 1_000 })
    const kept = [...broker.deadLetters, ...this.#operator.discarded]
    await broker.close()
    await clock.advance(1_000)
    return {
      plan,
      history,
      sent: new Map([...this.#producer.sent, ...this.#added]),
      letters: [...letters, ...kept],
      spilled: await this.#spilled(),
      journals: Object.fromEntries(this.#machines.map(({ name, disk }) => [name, disk.journal.size])),
      isIdle,
      timers: clock.pending,
      depths,
      fleet: await this.#fleetEnd(openReplays),
    }
  }

  async #fleetEnd(openReplays: readonly string[]): Promise<EndedWorld['fleet']> {
    const side = this.#world.fleet
    if (side === undefined) return undefined
    const replays = await side.replays.list({ limit: 1_000 })
    return {
      openReplays,
      commands: (await side.commands.list(10_000)).map(record => ({
        ...record,
        name: side.commandName(record.command.id),
      })),
      audit: (await side.audit.list({ limit: 1_000 })).entries,
      replays: await Promise.all(
        replays.map(async replay => ({ replay, items: await side.replays.items(replay.id) })),
      ),
    }
  }

  async #isIdle(): Promise<boolean> {
    const { plan, broker, store } = this.#world
    if (!this.#producer.isDone || !this.#machines.every(({ isUp, isFlushed }) => isUp && isFlushed))
      return false
    if (plan.handlers.some(({ channel, name }) => broker.depth(channel, name) > 0)) return false
    if ((await this.#spilled()) > 0) return false
    if ((await this.#fleetOperator?.isDone()) === false) return false
    return (await store.list({ state: 'replaying' })).letters.length === 0
  }

  /** The next process sends the events that are left in a journal; the operator replays letters of sinks. */
  async #hasMoreWork(): Promise<boolean> {
    const unrecovered = this.#machines.filter(({ disk }) => disk.journal.size > 0)
    for (const machine of unrecovered) void machine.close({ thenBoot: true })
    if (unrecovered.length > 0) return true
    if (this.#hasResent || this.#world.plan.tracks.size === 0) return false
    this.#hasResent = true
    const { tracks } = this.#world.plan
    await this.#operator.resend(event => this.#machine(tracks.get(event)?.machine ?? ''))
    return true
  }

  async #spilled(): Promise<number> {
    const sizes = await Promise.all(this.#machines.map(({ disk }) => disk.spill.size()))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  #machine(wanted: string): Machine {
    return this.#machines.find(({ name }) => name === wanted) as Machine
  }

  #do(action: PlannedAction): void {
    const { clock, history, faults } = this.#world
    faults.count++
    if (action.kind === 'jump') {
      clock.jump(action.ms)
      history.record({ what: 'jumped', ms: action.ms })
      return
    }
    history.record({
      what: 'action',
      description: [action.kind, 'machine' in action ? action.machine : ''].join(' '),
    })
    if (action.kind === 'repeat') this.#producer.repeat()
    else if (action.kind === 'replay') void this.#operator.replay()
    else if (action.kind === 'unblockKey') void this.#operator.unblockKey()
    else if (action.kind === 'force') this.#machine(action.machine).force(action.to)
    else if (action.kind === 'restart') void this.#machine(action.machine).close({ thenBoot: true })
    else this.#machine(action.machine)[action.kind]()
  }
}
