import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { createEvent, type LazaretEvent } from '../src/core/event/event.ts'
import { REPLAY_HEADERS } from '../src/core/event/replay-headers.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import type { ForgeryPlan } from './extras.ts'
import { replayOf } from './names.ts'
import type { World } from './world.ts'

type Headers = Readonly<Record<string, string>>

const NOBODY = 'nobody'

/**
 * Publishes events with forged replay headers. The events are valid and must be handled, but they must not change any
 * letter.
 */
export class Forger {
  readonly #world: World
  #count = 0

  constructor(world: World) {
    this.#world = world
    for (const forgery of world.plan.extras.forgeries)
      world.clock.schedule(forgery.atMs, () => void this.#forge(forgery))
  }

  async #forge({ kind }: ForgeryPlan): Promise<void> {
    const { plan, store, faults, extraChance: chance, history } = this.#world
    faults.count++
    history.record({ what: 'action', description: `a forged event: ${kind}` })
    const { letters } = await store.list()
    const ours = letters.filter(({ event }) => plan.events.has(event.id))
    const letter = ours.length === 0 ? undefined : chance.pick(ours)
    const handler = chance.pick(plan.handlers)
    if (kind === 'copies-event') {
      if (letter !== undefined) this.#publish(this.#copyOf(letter), letter.handler)
    } else if (kind === 'names-letter') {
      if (letter !== undefined) this.#publish(this.#newEvent(letter.channel, this.#claiming(letter)))
    } else if (kind === 'half-filled') this.#publish(this.#newEvent(handler.channel, this.#halfFilled()))
    else {
      const name = this.#nextName()
      const headers = { ...replayHeaders(1, handler.name), [REPLAY_HEADERS.originalId]: name }
      this.#publish(this.#newEvent(handler.channel, headers, name), handler.name)
    }
  }

  #copyOf({ event, handler, replays, id }: DeadLetter): LazaretEvent {
    const { extraChance: chance } = this.#world
    const attempt = chance.pick([1, replays, replays + 1, 99].filter(number => number > 0))
    const headers = {
      ...event.headers,
      ...replayHeaders(attempt, handler),
      [REPLAY_HEADERS.originalId]: event.id,
      [REPLAY_HEADERS.letterId]: id,
    }
    return { ...event, headers }
  }

  #claiming({ id, handler, event }: DeadLetter): Headers {
    const { extraChance: chance } = this.#world
    return {
      ...(chance.maybe(0.5) ? replayHeaders(1, handler) : { [REPLAY_HEADERS.replayAttempt]: '1' }),
      ...(chance.maybe(0.5) ? { [REPLAY_HEADERS.originalId]: event.id } : {}),
      [REPLAY_HEADERS.letterId]: id,
    }
  }

  #halfFilled(): Headers {
    const { extraChance: chance, plan } = this.#world
    const all = {
      ...replayHeaders(
        chance.pick([1, 3, 99]),
        chance.pick([NOBODY, ...plan.handlers.map(({ name }) => name)]),
      ),
      [REPLAY_HEADERS.originalId]: 'e1',
      [REPLAY_HEADERS.letterId]: 'a-letter-that-does-not-exist',
    }
    return Object.fromEntries(Object.entries(all).filter(() => chance.maybe(0.6)))
  }

  #newEvent(channel: string, headers: Headers, name = this.#nextName()): LazaretEvent {
    const { clock, extraChance: chance } = this.#world
    return createEvent(
      { id: name, type: name, channel, headers, payload: { order: name } },
      { now: clock.now(), newId: createIdSource(chance.random) },
    )
  }

  #nextName(): string {
    return `s${++this.#count}`
  }

  /** `to`: the only handler that gets the event, because all headers except the replay id are those of a replay. */
  #publish(event: LazaretEvent, to?: string): void {
    const { broker, history, plan } = this.#world
    if (!plan.events.has(event.id)) this.#world.addEvent(event, 'valid')
    history.record({
      what: 'published',
      event: event.id,
      channel: event.channel,
      replay: replayOf(event),
      isForged: true,
      ...(to === undefined ? {} : { to }),
    })
    void broker.publish([event])
  }
}

function replayHeaders(attempt: number, handler: string): Headers {
  return {
    [REPLAY_HEADERS.replayed]: 'true',
    [REPLAY_HEADERS.replayId]: 'forged',
    [REPLAY_HEADERS.replayAttempt]: String(attempt),
    [REPLAY_HEADERS.handler]: handler,
  }
}
