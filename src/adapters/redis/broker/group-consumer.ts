import { SharedWriteBatcher } from '../../../adapter-kit/write-batcher.ts'
import { LeaseWitness } from '../../../core/lease-witness.ts'
import { run } from '../connection/script.ts'
import type { HandlerContext } from './context.ts'
import type { StreamDelivery } from './delivery.ts'
import { writeLog } from './entry.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { RunningLists } from './running-lists.ts'
import { BEGIN, ENTER, HEARTBEAT, RECLAIM, RESIGN } from './scripts/membership.ts'

const MAX_STARTS = 5_000
/** The number of entries that one step takes over. The server does nothing else during the step. */
const MAX_RECLAIMED = 100

/**
 * A consumer of the group, as others see it: a name with a lease that is renewed all the time, and lists of the
 * attempts that it has begun. When the consumer dies, the consumer that takes over its entries counts those attempts,
 * and only those.
 *
 * A consumer that was taken for dead while it lives has lost everything, and goes on under another name.
 */
export class GroupConsumer {
  readonly #context: HandlerContext
  readonly #newName: () => string
  readonly #onLost: () => void
  readonly #witness: LeaseWitness
  readonly #starts = new SharedWriteBatcher<StreamDelivery, boolean>(MAX_STARTS, deliveries =>
    this.#begin(deliveries),
  )
  #running = new RunningLists()
  #name: string
  #hasResigned = false

  constructor(context: HandlerContext, newName: () => string, onLost: () => void) {
    this.#context = context
    this.#newName = newName
    this.#onLost = onLost
    this.#witness = new LeaseWitness(context.settings.leaseMs)
    this.#name = newName()
  }

  /** The name of the consumer. It changes when the lease was lost. */
  get name(): string {
    return this.#name
  }

  /** Joins the group. It is also called when the group was deleted. */
  async enter(): Promise<void> {
    const { connection, keys, settings } = this.#context
    const { events, own, handlers, leases, running, handler } = keys
    const args = [handler, this.#name, String(settings.leaseMs)]
    await run(connection, ENTER, [events, own, handlers, leases, running], args, { idempotent: true })
    this.#witness.renewed(settings.clock.now())
  }

  /** Renews the lease. */
  async heartbeat(): Promise<void> {
    const { connection, keys, settings } = this.#context
    const name = this.#name
    const args = [name, String(settings.leaseMs)]
    const isAlive = await run(connection, HEARTBEAT, [keys.leases], args, { idempotent: true })
    if (isAlive) this.#witness.renewed(settings.clock.now())
    else await this.#startOver(name)
  }

  /** Brings back what dead consumers had. One that did not renew in time may have been as unable to as this one. */
  async reclaim(): Promise<void> {
    const { connection, keys, settings } = this.#context
    const { events, own, waiting, notes, leases, running, handler } = keys
    for (let moved = MAX_RECLAIMED; moved === MAX_RECLAIMED && !this.#hasResigned; ) {
      const isSteady = this.#witness.canJudgeOthers(settings.clock.now()) ? '1' : '0'
      const args = [handler, this.#name, isSteady, String(settings.leaseMs), String(MAX_RECLAIMED)]
      moved = await run(connection, RECLAIM, [events, own, waiting, notes, leases, running], args)
    }
  }

  /** Resolves when the start of an attempt is recorded; to false if another consumer has the event. */
  begin(delivery: StreamDelivery): Promise<boolean> {
    return this.#starts.add(delivery)
  }

  /** The attempts of a delivery are over. The next start writes that too. */
  end(delivery: StreamDelivery): void {
    this.#running.end(delivery.mark)
  }

  /** Gives its entries to other consumers. If the server is unreachable, the lease expires. */
  async resign(): Promise<void> {
    this.#hasResigned = true
    const { connection, keys } = this.#context
    const { events, own, leases, running, handler } = keys
    await run(connection, RESIGN, [events, own, leases, running], [handler, this.#name], { idempotent: true })
  }

  async #begin(deliveries: readonly StreamDelivery[]): Promise<boolean> {
    const { connection, keys, settings } = this.#context
    const { leases, running, notes } = keys
    const name = this.#name
    const marks = deliveries.map(({ mark }) => mark)
    const { number, over } = this.#running.begin(marks)
    const lists = over.map(list => `${name} ${list}`)
    const args = [name, `${name} ${number}`, marks.join(','), String(lists.length), ...lists]
    for (const delivery of deliveries)
      if (delivery.hasNotes)
        args.push(delivery.mark, writeLog(delivery.logBeforeThisAttempt, settings.codec.events.texts))
    const isGone = () => this.#hasResigned || this.#name !== name
    const isAlive = await retryUntilDone(settings, isGone, () =>
      run(connection, BEGIN, [leases, running, notes], args, { idempotent: true }),
    )
    if (isAlive === false) await this.#startOver(name)
    return isAlive === true
  }

  /** Continues with another name, unless it did so before the answer came. */
  async #startOver(name: string): Promise<void> {
    if (name !== this.#name || this.#hasResigned) return
    this.#name = this.#newName()
    this.#running = new RunningLists()
    this.#onLost()
    const hasResigned = () => this.#hasResigned
    await retryUntilDone(this.#context.settings, hasResigned, () => this.enter())
  }
}
