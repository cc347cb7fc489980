import type { Cancel } from '../../../../ports/clock.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { AssignedPartition } from '../consume/partition.ts'
import { topicTag } from '../topics/topic-tag.ts'
import type { HeldEvent, HeldTopic } from './held-topic.ts'

/** How often an owner looks for late states. */
export const LOOK_EVERY_MS = 15_000

interface LateListener {
  /** The partitions of the channel whose order is known. */
  partitions(): Iterable<number>
  /** The partitions of all topics that have this number. */
  topics(partition: number): Iterable<AssignedPartition>
  /** Whether the event stands in its line. If so, the late state is its latest one in the topic. */
  takes(partition: number, late: HeldEvent): boolean
  /** The event was done before. Its late state must not bring it back. */
  isDone(partition: number, late: HeldEvent): void
  /** Nothing is known of the event: it is held. */
  isHeld(partition: number, late: HeldEvent): void
}

/**
 * What earlier owners of the partitions have written to the held topic. A write can be on its way when its process dies, and
 * arrive after the next owner has read the topic. The next owner has to look for it: otherwise its event counts as waiting, and
 * is delivered again by the owner after that.
 */
export class LateStates {
  readonly #context: SubscriptionContext
  readonly #held: HeldTopic
  readonly #listener: LateListener
  /** By partition, the events that were held when it was opened. They come from the held topic, and not from their records. */
  readonly #inherited = new Map<number, Set<string>>()
  /** By partition, where the late states are of events whose records are still to be read. */
  readonly #expected = new Map<number, Map<string, number>>()
  #cancel: Cancel | undefined
  #isClosed = false

  constructor(context: SubscriptionContext, held: HeldTopic, listener: LateListener) {
    this.#context = context
    this.#held = held
    this.#listener = listener
  }

  opened(partition: number, held: readonly HeldEvent[]): void {
    this.#inherited.set(partition, new Set(held.map(({ heldKey }) => heldKey)))
    this.#expected.set(partition, new Map())
    this.#lookLater()
  }

  lost(partition: number): void {
    this.#inherited.delete(partition)
    this.#expected.delete(partition)
  }

  isInherited(partition: number, heldKey: string): boolean {
    return this.#inherited.get(partition)?.has(heldKey) === true
  }

  /** Somebody has deleted what was held. The record of the event counts again, if it was not read yet. */
  forget(partition: number, heldKey: string): void {
    this.#inherited.get(partition)?.delete(heldKey)
  }

  /** Where the late state is of an event whose record was read now. */
  of(partition: number, heldKey: string): number | undefined {
    return this.#expected.get(partition)?.get(heldKey)
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }

  #lookLater(): void {
    if (this.#isClosed) return
    this.#cancel ??= this.#context.settings.clock.schedule(LOOK_EVERY_MS, () => {
      // After a failure the next look finds the same states.
      void this.#look()
        .catch(() => {})
        .finally(() => {
          this.#cancel = undefined
          this.#lookLater()
        })
    })
  }

  async #look(): Promise<void> {
    const partitions = [...this.#listener.partitions()]
    if (partitions.length === 0) return
    const ends = await this.#held.ends()
    for (const partition of partitions)
      for (const late of await this.#held.late(partition, ends[partition] ?? 0)) this.#came(partition, late)
  }

  #came(partition: number, late: HeldEvent): void {
    const { heldKey, offset } = late
    const expected = this.#expected.get(partition)
    if (expected === undefined || this.#listener.takes(partition, late)) return
    const isPending = this.isInherited(partition, heldKey) ? false : this.#isPending(partition, heldKey)
    if (isPending === true) expected.set(heldKey, offset)
    else if (isPending === false) this.#listener.isDone(partition, late)
    else this.#listener.isHeld(partition, late)
  }

  /** Whether the record of the event is still to be read or settled; undefined if that is not known. */
  #isPending(partition: number, heldKey: string): boolean | undefined {
    for (const { topicId, window } of this.#listener.topics(partition)) {
      const tag = `${topicTag(topicId)}:`
      if (heldKey.startsWith(tag)) return window.isPending(Number(heldKey.slice(tag.length)))
    }
    return undefined
  }
}
