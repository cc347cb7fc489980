import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Random } from '../../../src/core/random.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import type { Dispatcher } from '../../../src/runtime/dispatcher/dispatcher.ts'
import { createFactory, type Factory } from '../../../src/testing/factories.ts'
import { pause } from '../campaign/wait.ts'
import { CONSUMED, CONSUMER_SHARES, type Kind, REFUSED, REFUSED_SHARE, TRACKED } from './plan.ts'
import type { Tally } from './tally.ts'

const TICK_MS = 250
const AGAIN_MS = 500
/** With more open events it waits, so that a slow machine has no backlog that grows without end. */
const MOST_OPEN = 1_000
/** The most calls of `track` that wait for their outcome. */
const MOST_TRACKED = 500
/** About as much as an order: `detail` fills an event to half a kilobyte. */
const DETAIL = 'x'.repeat(300)

interface LoadTargets {
  readonly broker: Broker
  readonly dispatcher: Dispatcher
  readonly tally: Tally
}

/** Publishes and tracks events at a steady rate. A broker that does not answer makes it slower, and nothing is caught up. */
export class Load {
  readonly #targets: LoadTargets
  readonly #perTick: number
  readonly #random: Random
  readonly #make: Factory
  #owed = 0
  #count = 0
  #tracking = 0
  #isStopped = false
  #working: Promise<void> | undefined

  constructor(targets: LoadTargets, perSecond: number, random: Random) {
    this.#targets = targets
    this.#perTick = (perSecond * TICK_MS) / 1_000
    this.#random = random
    this.#make = createFactory({ clock: systemClock, random })
  }

  start(): void {
    this.#working = this.#work()
  }

  /** Resolves when the broker has every event that was begun. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#working
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      const nextAt = systemClock.now() + TICK_MS
      if (this.#targets.tally.open >= MOST_OPEN) {
        await pause(TICK_MS)
        continue
      }
      this.#owed += this.#perTick
      const count = Math.floor(this.#owed)
      this.#owed -= count
      const events: LazaretEvent[] = []
      for (let index = 0; index < count; index++) {
        if (this.#count++ % 4 === 3) this.#track()
        else events.push(this.#consumed())
      }
      await this.#publish(events)
      await pause(Math.max(1, nextAt - systemClock.now()))
    }
  }

  #consumed(): LazaretEvent {
    const payload = { kind: this.#drawKind(), amount: this.#count, detail: DETAIL }
    return this.#make.event({ channel: CONSUMED, payload })
  }

  #drawKind(): Kind {
    let left = this.#random()
    for (const [kind, share] of Object.entries(CONSUMER_SHARES)) {
      left -= share
      if (left < 0) return kind as Kind
    }
    return 'valid'
  }

  async #publish(events: readonly LazaretEvent[]): Promise<void> {
    if (events.length === 0) return
    const { broker, tally } = this.#targets
    for (const { id } of events) tally.begin(id)
    // As callers do it: with the same ids, until the broker has them.
    while (
      !(await broker.publish(events).then(
        () => true,
        () => false,
      ))
    )
      await pause(AGAIN_MS)
    tally.add('published', events.length)
  }

  #track(): void {
    if (this.#tracking >= MOST_TRACKED) return
    const { dispatcher, tally } = this.#targets
    const type = this.#random() < REFUSED_SHARE ? REFUSED : 'order.seen'
    const { id, payload } = this.#make.event({ channel: TRACKED, type, payload: { detail: DETAIL } })
    tally.begin(id)
    tally.add('published')
    this.#tracking++
    dispatcher
      .track({ id, type, payload }, { onFailure: 'swallow' })
      .then(({ sinks }) => {
        if (Object.values(sinks).some(({ outcome }) => outcome === 'dropped')) tally.add('lost')
      })
      .catch(() => tally.add('lost'))
      .finally(() => this.#tracking--)
  }
}
