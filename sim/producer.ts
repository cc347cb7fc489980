import { Buffer } from 'node:buffer'
import { createEvent, type LazaretEvent } from '../src/core/event/event.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import { Chance } from './chance.ts'
import type { EventPlan } from './plan.ts'
import type { World } from './world.ts'

/** Publishes each event until the broker confirms it, so an event is published at least once. */
export class Producer {
  /** The events as first published. */
  readonly sent = new Map<string, LazaretEvent>()
  readonly #world: World
  readonly #chance: Chance
  #open: number

  constructor(world: World) {
    this.#world = world
    this.#chance = new Chance(world.plan.seed, 4)
    this.#open = world.plan.events.size
    for (const event of world.plan.events.values())
      world.clock.schedule(event.publishMs, () => this.#publish(event))
  }

  get isDone(): boolean {
    return this.#open === 0
  }

  /** Publishes one of the published events again. */
  repeat(): void {
    const known = [...this.#world.plan.events.values()].filter(({ name }) => this.sent.has(name))
    if (known.length > 0) this.#send(this.#chance.pick(known))
  }

  #publish(event: EventPlan): void {
    const { faults, clock } = this.#world
    const { kind } = faults.inject('producer')
    if (kind !== 'refuse') this.#send(event)
    if (kind === 'none') this.#open--
    else clock.schedule(faults.delayMs(1_000), () => this.#publish(event))
  }

  #send(plan: EventPlan): void {
    const { broker, history } = this.#world
    const { name, channel } = plan
    const event = this.sent.get(name) ?? this.#create(plan)
    this.sent.set(name, event)
    history.record({ what: 'published', event: name, channel, replay: 0 })
    if (plan.eventKind === 'undecodable') {
      void broker.publishUndecodable(channel, { raw: Buffer.from(name), problem: 'it is not valid JSON' })
    } else void broker.publish([event])
  }

  #create({ name, channel, key, idempotencyKey, eventKind, expiresInMs }: EventPlan): LazaretEvent {
    const now = this.#world.clock.now()
    return createEvent(
      {
        id: name,
        type: name,
        channel,
        key,
        idempotencyKey,
        headers: { tenant: `t${name}` },
        payload: eventKind === 'schema-mismatch' ? 'no object' : { order: name },
        expiresAt: expiresInMs === undefined ? undefined : now + expiresInMs,
      },
      { now, newId: createIdSource(this.#chance.random) },
    )
  }
}
