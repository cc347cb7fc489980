import { Buffer } from 'node:buffer'
import { createEvent, type LazaretEvent } from '../src/core/event/event.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import { Chance } from './chance.ts'
import type { EventPlan } from './plan.ts'
import type { Scene } from './scene.ts'

/** Publishes until the broker has confirmed it: an event may be published more than once, and never less. */
export class Producer {
  /** As they were first sent. */
  readonly sent = new Map<string, LazaretEvent>()
  readonly #scene: Scene
  readonly #chance: Chance
  #open: number

  constructor(scene: Scene) {
    this.#scene = scene
    this.#chance = new Chance(scene.plan.seed, 4)
    this.#open = scene.plan.events.size
    for (const event of scene.plan.events.values())
      scene.clock.schedule(event.publishMs, () => this.#publish(event))
  }

  get isDone(): boolean {
    return this.#open === 0
  }

  /** Sends one of the events again that it has sent before. */
  repeat(): void {
    const known = [...this.#scene.plan.events.values()].filter(({ name }) => this.sent.has(name))
    if (known.length > 0) this.#send(this.#chance.pick(known))
  }

  #publish(event: EventPlan): void {
    const { faults, clock } = this.#scene
    const { kind } = faults.fate('producer')
    if (kind !== 'refuse') this.#send(event)
    if (kind === 'pass') this.#open--
    else clock.schedule(faults.delayMs(1_000), () => this.#publish(event))
  }

  #send(plan: EventPlan): void {
    const { broker, journal } = this.#scene
    const { name, channel } = plan
    const event = this.sent.get(name) ?? this.#create(plan)
    this.sent.set(name, event)
    journal.note({ what: 'published', event: name, channel, replay: 0 })
    if (plan.nature === 'garbled') {
      void broker.publishUndecodable(channel, { raw: Buffer.from(name), problem: 'it is no JSON' })
    } else void broker.publish([event])
  }

  #create({ name, channel, key, idempotencyKey, nature, lifeMs }: EventPlan): LazaretEvent {
    const now = this.#scene.clock.now()
    return createEvent(
      {
        id: name,
        type: name,
        channel,
        key,
        idempotencyKey,
        headers: { tenant: `t${name}` },
        payload: nature === 'misshapen' ? 'no object' : { order: name },
        expiresAt: lifeMs === undefined ? undefined : now + lifeMs,
      },
      { now, newId: createIdSource(this.#chance.random) },
    )
  }
}
