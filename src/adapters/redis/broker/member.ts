import { Gathering } from '../../../adapter-kit/gathering.ts'
import { Steadiness } from '../../../core/steadiness.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import type { StreamDelivery } from './delivery.ts'
import type { HandlerPlaces } from './keys.ts'
import type { RedisStreamsSettings } from './options.ts'
import { writePast } from './past.ts'
import { persist } from './persistence.ts'
import { RunningLists } from './running-lists.ts'
import { BEGIN } from './scripts/beginning.ts'
import { BEAT, ENTER, RESIGN } from './scripts/entering.ts'
import { RECLAIM } from './scripts/returning.ts'

const MOST_BEGUN = 5_000
/** Brought back in one step: the server does nothing else meanwhile. */
const MOST_BROUGHT_BACK = 100

/**
 * A consumer of the group, as others see it: a name with a lease that is renewed all the time, and lists of the attempts
 * that it has begun. When it dies under them, whoever brings back what it had counts those attempts, and only those.
 *
 * Taken for dead while it lives, it has lost everything, and goes on under another name.
 */
export class Member {
  readonly #on: RedisConnection
  readonly #places: HandlerPlaces
  readonly #settings: RedisStreamsSettings
  readonly #newName: () => string
  readonly #onLost: () => void
  readonly #steadiness: Steadiness
  #running = new RunningLists()
  readonly #beginning: Gathering<StreamDelivery, boolean>
  #name: string
  #hasResigned = false

  constructor(
    on: RedisConnection,
    places: HandlerPlaces,
    settings: RedisStreamsSettings,
    newName: () => string,
    onLost: () => void,
  ) {
    this.#on = on
    this.#places = places
    this.#settings = settings
    this.#newName = newName
    this.#onLost = onLost
    this.#steadiness = new Steadiness(settings.leaseMs)
    this.#name = newName()
    this.#beginning = new Gathering(MOST_BEGUN, async deliveries => {
      const isBegun = await this.#write(deliveries)
      return deliveries.map(() => isBegun)
    })
  }

  /** It changes when the lease was lost. */
  get name(): string {
    return this.#name
  }

  /** Also when somebody has removed the group. */
  async enter(): Promise<void> {
    const { events, own, handlers, leases, running, handler } = this.#places
    const keys = [events, own, handlers, leases, running] as const
    await run(this.#on, ENTER, keys, [handler, this.#name, String(this.#settings.leaseMs)], { again: true })
    this.#steadiness.renewed(this.#settings.clock.now())
  }

  /** Renews the lease. */
  async beat(): Promise<void> {
    const { leases } = this.#places
    const { leaseMs, clock } = this.#settings
    const name = this.#name
    if ((await run(this.#on, BEAT, [leases], [name, String(leaseMs)], { again: true })) === 1)
      this.#steadiness.renewed(clock.now())
    else await this.#startOver(name)
  }

  /** Brings back what the dead had. Who has not resigned, but only not renewed, may have been as unable to as this one. */
  async reclaim(): Promise<void> {
    const { events, own, waiting, notes, leases, running, handler } = this.#places
    const { clock, leaseMs } = this.#settings
    const keys = [events, own, waiting, notes, leases, running] as const
    for (let moved = MOST_BROUGHT_BACK; moved === MOST_BROUGHT_BACK && !this.#hasResigned; ) {
      const isSteady = this.#steadiness.isSteady(clock.now()) ? '1' : '0'
      moved = await run(this.#on, RECLAIM, keys, [
        handler,
        this.#name,
        isSteady,
        String(leaseMs),
        String(MOST_BROUGHT_BACK),
      ])
    }
  }

  /** Resolves when it is written down that the attempt begins; with false when somebody else has the event by now. */
  begin(delivery: StreamDelivery): Promise<boolean> {
    return this.#beginning.add(delivery)
  }

  /** Its attempts are over; that they are, is written with others that begin. */
  end(delivery: StreamDelivery): void {
    this.#running.end(delivery.mark)
  }

  /** What it should still have goes to others. If nobody can be told, the lease runs out. */
  async resign(): Promise<void> {
    this.#hasResigned = true
    const { events, own, leases, running, handler } = this.#places
    await run(this.#on, RESIGN, [events, own, leases, running], [handler, this.#name], { again: true })
  }

  async #write(deliveries: readonly StreamDelivery[]): Promise<boolean> {
    const { leases, running, notes } = this.#places
    const name = this.#name
    const marks = deliveries.map(({ mark }) => mark)
    const { number, over } = this.#running.begin(marks)
    const lists = over.map(list => `${name} ${list}`)
    const args = [name, `${name} ${number}`, marks.join(','), String(lists.length), ...lists]
    for (const delivery of deliveries)
      if (delivery.hasNotes)
        args.push(delivery.mark, writePast(delivery.pastBeforeThisAttempt, this.#settings.codec.events.texts))
    const isGone = () => this.#hasResigned || this.#name !== name
    const alive = await persist(this.#settings, isGone, () =>
      run(this.#on, BEGIN, [leases, running, notes], args, { again: true }),
    )
    if (alive === 0) await this.#startOver(name)
    return alive === 1
  }

  /** The answer may be late, when it goes by another name already. */
  async #startOver(name: string): Promise<void> {
    if (name !== this.#name || this.#hasResigned) return
    this.#name = this.#newName()
    this.#running = new RunningLists()
    this.#onLost()
    await persist(
      this.#settings,
      () => this.#hasResigned,
      () => this.enter(),
    )
  }
}
