import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { noRoute } from '../operations/origin-broker.ts'
import { monotonicNow } from '../ports/clock.ts'
import type { ReplayRoute } from '../ports/collector.ts'
import type { CommandRecord } from '../ports/commands.ts'
import { describePart, hasPart } from '../ports/fleet.ts'
import type { Replay, ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { DELIVERY_MS, type Delivered, type DeliverTask } from '../runtime/fleet/deliver.ts'
import { mayBeSending, OVER_AFTER_MS } from '../runtime/fleet/open-delivery.ts'
import { sleep } from '../runtime/sleep.ts'
import { type LetterOwner, LivingProcesses, ownerOf } from './living-processes.ts'
import {
  type DeliveryAnswer,
  type FleetDeliveries,
  type ReplayEnvironment,
  type ReplayTarget,
  routeThrough,
} from './target.ts'

/** The time in which a process takes a delivery. After that nobody takes it, and nothing was sent. */
const CLAIM_MS = 2_500
const LOOK_EVERY_MS = 100
/** A process that failed gets no deliveries for this time, if another one can send the letters. */
const AVOID_MS = 30_000
/**
 * A process without a report keeps the letters that it holds for this much longer than its lease. After the store was away no
 * process has a lease, and each reports itself again within this time.
 */
const SILENT_MS = 10_000
/** A run waits this long for the restart of the only process that could send its letters. */
const RESTART_MS = 60_000

type FleetStore = Pick<Store, 'fleet' | 'commands' | 'replays'>

/**
 * Adds the processes of the fleet to the routes of this process: a letter that this process cannot send itself is sent by a
 * living process that owns its consumer or its sink. Without a fleet the routes stay as they are.
 */
export function replayThroughFleet(
  store: FleetStore,
  own: ReplayTarget | undefined,
  environment: Pick<ReplayEnvironment, 'clock' | 'newId'>,
): ReplayTarget | undefined {
  const { fleet, commands } = store
  if (fleet === undefined || commands === undefined) return own
  const living = new LivingProcesses(fleet, environment.clock)
  const deliveries = new Deliveries(store, living, environment)
  return {
    async routeOf(letter, to) {
      const route = own === undefined ? noRoute(letter.origin) : await routeThrough(own, letter, to)
      return route.kind === 'none' ? await deliveries.routeOf(letter, to, route) : route
    },
    async send(events, origin, hold) {
      // The runner asks for the route first. A letter of the fleet does not come here.
      if (own === undefined) throw new Error('a letter for the fleet was sent without a delivery')
      await own.send(events, origin, hold)
    },
    fleet: deliveries,
  }
}

/**
 * Deliveries of one or more items to a living process, by the command `deliver`. The item names its delivery before the
 * command is sent. A process sends an item only while the item names the delivery, and only for a short time after it has
 * taken the command. The delivery is over when the process has answered, or when it has had the command for so long that it
 * never will. Then the next one can take the items that are not recorded as handed on.
 */
class Deliveries implements FleetDeliveries {
  readonly #store: FleetStore
  readonly #living: LivingProcesses
  readonly #environment: Pick<ReplayEnvironment, 'clock' | 'newId'>
  /** When each process failed last. All times here are of the clock that never steps. */
  readonly #failedAt = new Map<string, number>()
  /** When each process was first found to be gone. */
  readonly #goneAt = new Map<string, number>()
  /** When a living process was last seen for an owner that has deliveries. */
  readonly #seenAt = new Map<string, number>()

  constructor(
    store: FleetStore,
    living: LivingProcesses,
    environment: Pick<ReplayEnvironment, 'clock' | 'newId'>,
  ) {
    this.#store = store
    this.#living = living
    this.#environment = environment
  }

  async routeOf(
    letter: Pick<DeadLetter, 'channel' | 'handler' | 'origin'>,
    to: string | undefined,
    otherwise: Extract<ReplayRoute, { readonly kind: 'none' }>,
  ): Promise<ReplayRoute> {
    const owner = ownerOf(letter, to)
    if (owner === undefined) return otherwise
    const [first] = (await this.#living.read()).filter(each => hasPart(each, owner))
    if (first !== undefined) return { kind: 'fleet', via: `a process of ${first.report.service}` }
    const wanted = describePart(owner)
    const seenAt = this.#seenAt.get(wanted)
    if (seenAt !== undefined && monotonicNow(this.#environment.clock) - seenAt < RESTART_MS)
      return { kind: 'fleet', via: 'a process that restarts' }
    return { kind: 'none', reason: `${otherwise.reason}; no living process ${wanted} either` }
  }

  async isAlive(instance: string): Promise<boolean> {
    const state = await this.#living.stateOf(instance)
    if (state !== 'gone') {
      this.#goneAt.delete(instance)
      return state === 'alive'
    }
    const now = monotonicNow(this.#environment.clock)
    const goneAt = this.#goneAt.get(instance) ?? now
    this.#goneAt.set(instance, goneAt)
    return now - goneAt < SILENT_MS
  }

  async deliver(
    replay: Replay,
    given: readonly { readonly item: ReplayItem; readonly letter: DeadLetter }[],
    by: string,
    keepLease: () => Promise<boolean>,
  ): Promise<DeliveryAnswer> {
    const answers: DeliveryAnswer[] = []
    const owners = Map.groupBy(given, ({ letter }) => JSON.stringify(ownerOf(letter, replay.to)))
    for (const [owner, part] of owners) {
      const items = part.map(({ item }) => item)
      answers.push(await this.#deliverTo(JSON.parse(owner) as LetterOwner, replay, items, by, keepLease))
    }
    return {
      refused: answers.flatMap(({ refused }) => refused),
      problem: answers.findLast(({ problem }) => problem !== undefined)?.problem,
    }
  }

  async #deliverTo(
    owner: LetterOwner,
    replay: Replay,
    items: readonly ReplayItem[],
    by: string,
    keepLease: () => Promise<boolean>,
  ): Promise<DeliveryAnswer> {
    const { clock, newId } = this.#environment
    const recipients = await this.#recipientsFor(owner)
    if (recipients.length === 0 || !(await keepLease())) return { refused: [] }
    const id = newId(clock.now())
    const { channel, handler, broker, sink, everySinkOf } = owner
    const task: DeliverTask = {
      ...{ kind: 'deliver', channel, handler, broker, sink, everySinkOf, replay: replay.id, delivery: id },
      positions: items.map(({ position }) => position),
      perSecond: replay.perSecond,
    }
    await this.#store.replays.record(
      replay.id,
      items.map(item => ({ ...item, delivery: id })),
    )
    await this.#store.commands!.send([{ v: 1, id, request: id, task: { ...task }, recipients, by }], CLAIM_MS)
    const record = await this.#ended(id, keepLease, 'new')
    const refused = refusedIn(record)
    if (refused !== undefined) return { refused }
    // Nobody can take it any more, so the items are again as if it had not been sent.
    if (record?.state === 'expired' && record.claimedBy === undefined)
      await this.#store.replays.record(replay.id, items, { delivery: id })
    // It failed, or took the delivery and did not answer.
    if (record?.claimedBy !== undefined) this.#failedAt.set(record.claimedBy, monotonicNow(clock))
    return { refused: [], problem: problemOf(record, owner) }
  }

  /** Processes that failed lately come last: only if no other one can send the letters. */
  async #recipientsFor(owner: LetterOwner): Promise<readonly string[]> {
    const now = monotonicNow(this.#environment.clock)
    const ids = (await this.#living.read())
      .filter(each => hasPart(each, owner))
      .map(({ report }) => report.id)
    if (ids.length > 0) this.#seenAt.set(describePart(owner), now)
    const good = ids.filter(id => now - (this.#failedAt.get(id) ?? Number.NEGATIVE_INFINITY) >= AVOID_MS)
    return good.length > 0 ? good : ids
  }

  ended(id: string, keepLease: () => Promise<boolean>): Promise<CommandRecord | undefined> {
    return this.#ended(id, keepLease, 'of an earlier run')
  }

  /** Waits until the process has answered, or can no longer send or record anything. Nobody has had a new delivery before. */
  async #ended(
    id: string,
    keepLease: () => Promise<boolean>,
    which: 'new' | 'of an earlier run',
  ): Promise<CommandRecord | undefined> {
    const { clock } = this.#environment
    const startedAt = monotonicNow(clock)
    for (;;) {
      const [record] = await this.#store.commands!.get(id)
      const waitedMs = monotonicNow(clock) - startedAt
      // The command of a crashed runner may still be on its way to the store.
      const mayCome = record === undefined && waitedMs < CLAIM_MS + DELIVERY_MS
      const isOpen = mayCome || mayBeSending(record, clock.now(), which === 'new' ? waitedMs : undefined)
      if (!isOpen || waitedMs >= CLAIM_MS + OVER_AFTER_MS || !(await keepLease())) return record
      await sleep(clock, LOOK_EVERY_MS)
    }
  }
}

/** The process may have another version, so its answer is read with care. */
function refusedIn(record: CommandRecord | undefined): Delivered['refused'] | undefined {
  if (record?.outcome?.ok !== true) return undefined
  const { refused } = (record.outcome.result ?? {}) as Partial<Delivered>
  if (!Array.isArray(refused)) return undefined
  return refused.every(each => typeof each?.position === 'number' && typeof each.reason === 'string')
    ? refused
    : undefined
}

function problemOf(record: CommandRecord | undefined, owner: LetterOwner): string {
  if (record?.claimedBy === undefined)
    return `a living process ${describePart(owner)}, but none took the letters`
  const whose = `the process ${record.claimedBy}, which ${describePart(owner)},`
  const { outcome } = record
  if (outcome === undefined) return `${whose} did not answer`
  return outcome.ok
    ? `${whose} answered in a form that this version does not know`
    : `${whose} could not send the letters: ${outcome.error}`
}
