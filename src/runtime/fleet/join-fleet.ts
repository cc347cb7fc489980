import { hostname } from 'node:os'
import process from 'node:process'
import { createIdSource } from '../../core/event/uuid.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import {
  custom,
  list,
  listener,
  milliseconds,
  optional,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { isPromiseLike } from '../../core/promise-like.ts'
import {
  type ClockAndRandomOptions,
  clockAndRandomRules,
  monotonicNow,
  settlesWithin,
} from '../../ports/clock.ts'
import type { CommandOutcome, Commands } from '../../ports/commands.ts'
import type { Fleet } from '../../ports/fleet.ts'
import type { Replays } from '../../ports/replays.ts'
import type { Consumer } from '../consumer/consumer.ts'
import { lettersInFlight } from '../dispatcher/letters-in-flight.ts'
import { port } from '../option-rules.ts'
import { sleep } from '../sleep.ts'
import { readLags } from './lags.ts'
import { type FleetDispatcher, type FleetLetters, type FleetParts, reportParts } from './report.ts'
import { IS_LEAVING } from './task-context.ts'
import { executeCommand } from './tasks.ts'

/** Options of `joinFleet()`. */
export interface FleetOptions extends ClockAndRandomOptions {
  /** The store that the processes share: SQLite, Postgres or Redis. It stays open. */
  readonly store: FleetStore
  /** The name of the program, such as `orders`. All its processes give the same. */
  readonly service: string
  /** The id of this process [a new one]. Give each `joinFleet()` of a process on several stores the same, so that it counts once. */
  readonly id?: string | undefined
  /** The version of the program [none]. The console shows two versions side by side during a release. */
  readonly version?: string | undefined
  /** The release, as on letters [none]. */
  readonly release?: string | undefined
  /** The consumers to report and to command [none]. */
  readonly consumers?: readonly Consumer[] | undefined
  /** The dispatchers whose sinks to report and to command [none]. */
  readonly dispatchers?: readonly FleetDispatcher[] | undefined
  /** The time between two reports, in ms [5 000]. A process without a report for three times as long is shown as gone. */
  readonly reportEveryMs?: number | undefined
  /** The time between two looks for commands, in ms [1 000]. A store that can wake the process is asked with each report. */
  readonly commandsEveryMs?: number | undefined
  /** Receives errors of the store [none]. The process works on without the fleet and tries again. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The parts of a store that carry a fleet. */
export interface FleetStore {
  /** The processes of the store [none: such a store is refused]. */
  readonly fleet?: Fleet | undefined
  /** Commands to them [none]. */
  readonly commands?: Commands | undefined
  /** The dead letters that commands name [none: such commands fail]. */
  readonly deadLetters?: FleetLetters | undefined
  /** Its replays [none: this process does not deliver them]. */
  readonly replays?: Pick<Replays, 'get' | 'items' | 'record'> | undefined
}

/** A process in the fleet. */
export interface FleetMembership {
  /** The id of this process. */
  readonly id: string
  /** Leaves the fleet: no more reports, no more commands. Consumers and dispatchers go on. Twice is safe. */
  close(): Promise<void>
}

const LEASE_REPORTS = 3
const COMMANDS_AT_ONCE = 20
/** The longest wait for an answer of the store, and for sinks: a process that ends must not be killed while it leaves. */
const MAX_WAIT_MS = 5_000
/** How often a process that leaves looks whether its sinks have finished. */
const LOOK_EVERY_MS = 100
/** Brokers count their events at most this often, because counting can be a query over a large table. */
const LAG_EVERY_MS = 30_000
/** Each process deletes old records of the fleet at its start and then this often, so that they stay few. */
const PURGE_EVERY_MS = 3_600_000
/** Processes that are gone or left stay on the list for a day. */
const INSTANCES_FOR_MS = 86_400_000
const COMMANDS_FOR_MS = 7 * 86_400_000
/** Reports of processes that started together spread out by this share of the interval. */
const SPREAD = 0.2

const rules = {
  store: custom(
    isFleetStore,
    'give a store that processes can share, such as openPostgres(…), openSqlite(…) or openRedis(…)',
  ),
  service: text({ maxLength: 200 }),
  id: optional(
    custom(
      (value): value is string => typeof value === 'string' && /^[\w.:-]{1,200}$/.test(value),
      "give an id of 1 to 200 letters, digits, '.', ':', '_' or '-'; another start of the program has another id",
    ),
  ),
  version: optional(text({ maxLength: 200 })),
  release: optional(text({ maxLength: 200 })),
  consumers: withDefault(
    list(port<Consumer>('consumers', 'health', 'pause', 'resume'), { maxItems: 1_000 }),
    [],
  ),
  dispatchers: withDefault(
    list(port<FleetDispatcher>('dispatchers', 'health', 'breaker', 'resend'), { maxItems: 1_000 }),
    [],
  ),
  reportEveryMs: withDefault(milliseconds({ min: 100, max: 600_000 }), 5_000),
  commandsEveryMs: withDefault(milliseconds({ min: 100, max: 600_000 }), 1_000),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
  ...clockAndRandomRules,
}

/** The outcome of a command that came when the process had left. */
const HAS_LEFT = { ok: false, error: 'this process has left the fleet' } as const

type FleetSettings = ReturnType<typeof resolveFleet>

function resolveFleet(options: FleetOptions) {
  return resolveOptions('joinFleet', rules, options)
}

/**
 * Makes this process a member of the fleet: it reports its consumers and sinks to the store, and executes the commands that
 * people send from the console, the API or `lazaret fleet`. While the store is away the process works on as if there were
 * no fleet.
 */
export function joinFleet(options: FleetOptions): FleetMembership {
  const member = new FleetMember(resolveFleet(options))
  member.start()
  return member
}

class FleetMember implements FleetMembership {
  readonly id: string
  readonly #settings: FleetSettings
  readonly #parts: FleetParts
  readonly #startedAt: number
  #lags: ReadonlyMap<Consumer, number> = new Map()
  #lagsReadAt = Number.NEGATIVE_INFINITY
  #purgedAt = Number.NEGATIVE_INFINITY
  /** Ends waits and commands when this process leaves. */
  readonly #leaving = new AbortController()
  /** What the store answers from now on comes too late: it must not undo the end. */
  #hasLeft = false
  /** Commands were announced since the last look. */
  #isAnnounced = false
  readonly #waits = new Set<() => void>()
  #work: Promise<unknown> = Promise.resolve()
  /** Commands that take time. They do not hold up the others. */
  readonly #executing = new Set<Promise<void>>()
  #closing: Promise<void> | undefined

  constructor(settings: FleetSettings) {
    const { clock, random, consumers, dispatchers, store } = settings
    this.#settings = settings
    this.#startedAt = clock.now()
    this.id = settings.id ?? createIdSource(random)(this.#startedAt)
    const { deadLetters: letters, replays } = store
    const parts = { consumers: [...new Set(consumers)], dispatchers: [...new Set(dispatchers)] }
    this.#parts = { id: this.id, ...parts, letters, replays, clock }
  }

  start(): void {
    this.#work = Promise.all([this.#reportAgainAndAgain(), this.#lookForCommands()])
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#leaving.abort(new Error(IS_LEAVING))
      this.#endWaits()
      await this.#work
      await this.#limited(Promise.all(this.#executing))
      await this.#sinksFinish()
      this.#hasLeft = true
      await this.#limited(this.#settings.store.fleet?.leave(this.id))
    })()
    return this.#closing
  }

  /** Once this process has left, another one sends the letters that sinks of this one still have: not at the same time. */
  async #sinksFinish(): Promise<void> {
    const { clock, dispatchers } = this.#settings
    const areSending = () => dispatchers.some(dispatcher => lettersInFlight(dispatcher).size > 0)
    for (let waitedMs = 0; waitedMs < this.#maxWaitMs && areSending(); waitedMs += LOOK_EVERY_MS)
      await sleep(clock, LOOK_EVERY_MS)
  }

  get #isStopped(): boolean {
    return this.#leaving.signal.aborted
  }

  async #reportAgainAndAgain(): Promise<void> {
    const { random, reportEveryMs } = this.#settings
    while (!this.#isStopped) {
      await this.#limited(this.#report())
      await this.#limited(this.#purge())
      await this.#wait(reportEveryMs * (1 - SPREAD * random()))
    }
  }

  async #report(): Promise<void> {
    const { store, service, version, release, reportEveryMs } = this.#settings
    await this.#readLags()
    const report = {
      v: 1,
      id: this.id,
      ...{ service, version, release },
      host: hostname(),
      pid: process.pid,
      startedAt: this.#startedAt,
      ...reportParts(this.#parts, this.#lags),
    } as const
    await store.fleet?.report(report, LEASE_REPORTS * reportEveryMs)
    if (this.#hasLeft) await store.fleet?.leave(this.id)
  }

  async #purge(): Promise<void> {
    const { store, clock } = this.#settings
    const now = clock.now()
    // The absolute difference also covers a clock that was set back.
    if (this.#isStopped || Math.abs(now - this.#purgedAt) < PURGE_EVERY_MS) return
    this.#purgedAt = now
    await store.fleet?.purge(now - INSTANCES_FOR_MS)
    await store.commands?.purge(now - COMMANDS_FOR_MS)
  }

  async #readLags(): Promise<void> {
    const { clock } = this.#settings
    if (Math.abs(clock.now() - this.#lagsReadAt) < LAG_EVERY_MS) return
    this.#lagsReadAt = clock.now()
    this.#lags = await readLags(this.#parts.consumers, clock)
  }

  async #lookForCommands(): Promise<void> {
    const { store, commandsEveryMs, reportEveryMs } = this.#settings
    const { commands } = store
    if (commands === undefined) return
    const end = this.#listen(commands)
    const everyMs = end === undefined ? commandsEveryMs : Math.max(commandsEveryMs, reportEveryMs)
    while (!this.#isStopped) {
      this.#isAnnounced = false
      await this.#limited(this.#executeAll(commands))
      if (!this.#isAnnounced) await this.#wait(everyMs)
    }
    end?.()
  }

  #listen(commands: Commands): (() => void) | undefined {
    try {
      return commands.onCommand?.(this.id, () => this.#announce())
    } catch (error) {
      this.#settings.onError(error)
      return undefined
    }
  }

  /** A command is claimed before it is executed, so it is executed at most once. */
  async #executeAll(commands: Commands): Promise<void> {
    const { signal } = this.#leaving
    const circumstances = { askedAt: monotonicNow(this.#settings.clock), signal }
    const claimed = await commands.claim(this.id, COMMANDS_AT_ONCE)
    const executed: (() => Promise<void>)[] = []
    for (const command of claimed) {
      const outcome = this.#hasLeft ? HAS_LEFT : executeCommand(this.#parts, command, circumstances)
      const finish = (end: CommandOutcome) =>
        commands.finish(command.id, this.id, end).then(() => {}, this.#settings.onError)
      if (isPromiseLike(outcome)) this.#track(outcome.then(finish))
      else executed.push(() => finish(outcome))
    }
    // Who sees that a command is done also sees what it changed, such as a plan that asks whether a consumer is paused.
    if (executed.length > 0 && !this.#hasLeft) await this.#limited(this.#report())
    for (const finish of executed) await finish()
    if (claimed.length === COMMANDS_AT_ONCE) this.#announce()
  }

  #track(work: Promise<void>): void {
    this.#executing.add(work)
    void work.finally(() => this.#executing.delete(work))
  }

  #announce(): void {
    this.#isAnnounced = true
    this.#endWaits()
  }

  #wait(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise(resolve => {
      const end = () => {
        cancel()
        this.#waits.delete(end)
        resolve()
      }
      const cancel = this.#settings.clock.schedule(ms, end)
      this.#waits.add(end)
    })
  }

  #endWaits(): void {
    for (const end of [...this.#waits]) end()
  }

  get #maxWaitMs(): number {
    return Math.min(this.#settings.reportEveryMs, MAX_WAIT_MS)
  }

  /** Waits for the store, but not longer than the next report is due. */
  async #limited(work: Promise<unknown> | undefined): Promise<void> {
    const { clock, onError } = this.#settings
    await settlesWithin(clock, this.#maxWaitMs, (work ?? Promise.resolve()).catch(onError))
  }
}

function isFleetStore(value: unknown): value is FleetStore {
  if (typeof value !== 'object' || value === null) return false
  const { fleet, commands } = value as FleetStore
  return (
    hasMethods(fleet, 'report', 'leave', 'list', 'purge') &&
    (commands === undefined || hasMethods(commands, 'send', 'claim', 'finish', 'get', 'list', 'purge'))
  )
}

function hasMethods<T>(port: T | undefined, ...names: readonly (keyof T)[]): boolean {
  return names.every(name => typeof port?.[name] === 'function')
}
