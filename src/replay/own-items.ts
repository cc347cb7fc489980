import { monotonicNow } from '../ports/clock.ts'
import type { ReplayItem } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import type { LetterHold } from '../runtime/dispatcher/letter-hold.ts'
import { ItemHold } from '../runtime/fleet/item-hold.ts'
import type { Lease } from './lease.ts'
import type { ReplayEnvironment } from './target.ts'

const OWN = 'own:'

/** Whether the delivery is that of a runner which sends the item itself, and not a command to a process of the fleet. */
export function isOwn(delivery: string | undefined): boolean {
  return delivery?.startsWith(OWN) ?? false
}

/**
 * The items that a runner sends through a sink of its own process. Each names a delivery of this run, as if a process of the
 * fleet had it. A runner that takes over changes the item first, and waits. So a process that stood still between the claim
 * and the write sends nothing that the next one has.
 */
export class OwnItems {
  readonly #store: Pick<Store, 'replays' | 'deadLetters'>
  readonly #id: string
  readonly #lease: Lease
  readonly #clock: ReplayEnvironment['clock']
  readonly #delivery: string

  constructor(
    store: Pick<Store, 'replays' | 'deadLetters'>,
    id: string,
    lease: Lease,
    { clock, newId }: ReplayEnvironment,
  ) {
    this.#store = store
    this.#id = id
    this.#lease = lease
    this.#clock = clock
    this.#delivery = `${OWN}${newId(clock.now())}`
  }

  /** Records that this run has the item. Undefined if another run has the replay. */
  async take(
    item: ReplayItem,
  ): Promise<{ readonly item: ReplayItem; readonly hold: LetterHold } | undefined> {
    if (!(await this.#lease.keep())) return undefined
    const { replays, deadLetters } = this.#store
    const delivery = this.#delivery
    const taken = { ...item, delivery }
    const askedAt = monotonicNow(this.#clock)
    await replays.record(this.#id, [taken])
    const of = { replay: this.#id, delivery, position: item.position }
    return { item: taken, hold: new ItemHold(replays, deadLetters, of, this.#clock, askedAt) }
  }
}
