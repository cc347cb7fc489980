import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Clock } from '../ports/clock.ts'
import type { Replay, ReplayItem, Replays } from '../ports/replays.ts'
import { HOLD_MS } from '../runtime/fleet/item-hold.ts'
import { sleep } from '../runtime/sleep.ts'
import type { FleetDeliveries } from './target.ts'

const PAGE = 500
/** The greatest number of items in one delivery. A delivery also takes no longer than this at the rate of the replay. */
const MAX_ITEMS = 50
const MAX_SECONDS = 2
/** For the difference between the speeds of two clocks, and the moment between the last look of a process and its send. */
const MARGIN_MS = 1_000
/** How often the processes are checked that hold events. */
const HOLDERS_EVERY_MS = 2_000

/** The `delivery` of an item for the fleet that no process was given. So nobody has sent it. */
export const NOT_GIVEN = 'none'

interface FleetItem {
  readonly item: ReplayItem
  readonly letter: DeadLetter
}

/** What became of the items of a delivery. */
interface DeliveredItems {
  readonly handedOn: readonly FleetItem[]
  /** Items that no process has sent for certain. They are sent again. */
  readonly unconfirmed: readonly ReplayItem[]
  readonly refused: readonly (FleetItem & { readonly reason: string })[]
  /** Why a process did not send its items, for people. */
  readonly problem: string | undefined
}

/** Gathers the items of a batch that a process of the fleet is to send, and finds the items of processes that are gone. */
export class FleetItems {
  readonly #replays: Pick<Replays, 'items' | 'record'>
  readonly #id: string
  readonly #clock: Clock
  #items: FleetItem[] = []
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(replays: Pick<Replays, 'items' | 'record'>, id: string, clock: Clock) {
    this.#replays = replays
    this.#id = id
    this.#clock = clock
  }

  add(letter: DeadLetter, item: ReplayItem): void {
    this.#items.push({ letter, item })
  }

  isFull({ perSecond }: Replay): boolean {
    return this.#items.length >= Math.max(1, Math.min(MAX_ITEMS, Math.floor(perSecond * MAX_SECONDS)))
  }

  /** Takes the items out. */
  take(): readonly FleetItem[] {
    return this.#items.splice(0)
  }

  /** Has the items sent, and reads from the store what became of them. */
  async deliver(
    replay: Replay,
    items: readonly FleetItem[],
    deliveries: FleetDeliveries,
    by: string,
    keepLease: () => Promise<boolean>,
  ): Promise<DeliveredItems> {
    const answer = await deliveries.deliver(replay, items, by, keepLease)
    const reasons = new Map(answer.refused.map(({ position, reason }) => [position, reason]))
    const stored = await this.#stored(items.map(({ item }) => item.position))
    const handedOn: FleetItem[] = []
    const unconfirmed: ReplayItem[] = []
    const refused: (FleetItem & { readonly reason: string })[] = []
    for (const { item, letter } of items) {
      const now = stored.get(item.position)
      const reason = reasons.get(item.position)
      if (now?.status !== 'sent' || now.handedOn !== undefined) handedOn.push({ item, letter })
      else if (reason !== undefined) refused.push({ item, letter, reason })
      else unconfirmed.push(now)
    }
    return { handedOn, unconfirmed, refused, problem: answer.problem }
  }

  /** The items whose event was in a process that is gone, every few seconds. */
  async abandoned(deliveries: FleetDeliveries): Promise<readonly ReplayItem[]> {
    const now = this.#clock.now()
    // The absolute difference also covers a clock that was set back.
    if (Math.abs(now - this.#lookedAt) < HOLDERS_EVERY_MS) return []
    this.#lookedAt = now
    const found: ReplayItem[] = []
    let after = -1
    for (;;) {
      const page = await this.#replays.items(this.#id, { status: 'sent', after, limit: PAGE })
      for (const item of page)
        if (item.heldBy !== undefined && !(await deliveries.isAlive(item.heldBy))) found.push(item)
      if (page.length < PAGE) return found
      after = page.at(-1)!.position
    }
  }

  /**
   * Takes items back from the processes that may still have them, and returns those to send again. A process sends an item only
   * while the item names its delivery, and only for a short time after it has looked. So the items are changed first, and
   * free when that time is over. What a process recorded meanwhile stays with it.
   */
  async takeBack(items: readonly ReplayItem[]): Promise<readonly ReplayItem[]> {
    const given = items.filter(isGiven).map(withoutDelivery)
    if (given.length === 0) return items.map(withoutDelivery)
    await this.#replays.record(this.#id, given)
    await sleep(this.#clock, HOLD_MS + MARGIN_MS)
    const stored = await this.#stored(items.map(({ position }) => position))
    return items
      .flatMap(({ position }) => stored.get(position) ?? [])
      .filter(item => item.status === 'sent' && !item.handedOn && !isGiven(item))
  }

  /** Records that the item is no longer for the fleet. After a crash of the runner, its event may have been sent. */
  async takeOut(item: ReplayItem): Promise<ReplayItem> {
    if (item.delivery !== NOT_GIVEN) return item
    const own = { ...item, delivery: undefined }
    await this.#replays.record(this.#id, [own])
    return own
  }

  async #stored(positions: readonly number[]): Promise<ReadonlyMap<number, ReplayItem>> {
    const wanted = new Set(positions)
    const last = Math.max(...positions)
    const found = new Map<number, ReplayItem>()
    let after = Math.min(...positions) - 1
    while (after < last) {
      const page = await this.#replays.items(this.#id, { after, limit: Math.min(PAGE, last - after) })
      for (const item of page) if (wanted.has(item.position)) found.set(item.position, item)
      if (page.length === 0) break
      after = page.at(-1)!.position
    }
    return found
  }
}

/** Whether a process, or a sink of a runner, was given the item. */
export function isGiven({ delivery }: ReplayItem): boolean {
  return delivery !== undefined && delivery !== NOT_GIVEN
}

/** The item without the process that had it. A process does not send an item that was handed on. */
function withoutDelivery({ handedOn: _, heldBy: __, delivery, ...item }: ReplayItem): ReplayItem {
  return delivery === NOT_GIVEN ? { ...item, delivery } : item
}
