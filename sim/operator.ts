import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import type { Replay } from '../src/ports/replays.ts'
import { replayEvent } from '../src/runtime/replay-event.ts'
import { Chance } from './chance.ts'
import { recordStateChange } from './history.ts'
import type { Machine } from './machine.ts'
import type { World } from './world.ts'

/** The person on call: replays dead letters, and unblocks keys without their dead-lettered events. */
export class Operator {
  /** Letters that only the broker kept, and that it dropped when their key was unblocked. */
  readonly discarded: DeadLetter[] = []
  readonly #world: World
  readonly #chance: Chance
  #replays = 0

  constructor(world: World) {
    this.#world = world
    this.#chance = new Chance(world.plan.seed, 5)
  }

  /** Replays letters. A replay is for the handler that gave up, and for no other handler of the channel. */
  async replay(): Promise<void> {
    const { plan, store, broker, clock, history } = this.#world
    if (plan.letters !== 'store') return
    const { letters } = await store.list()
    for (const letter of letters) {
      const { channel, state, handler } = letter
      const isFit = state === 'dead' || (state === 'quarantined' && this.#chance.maybe(0.3))
      const isOurs = plan.events.has(letter.event.id)
      if (!isFit || !isOurs || this.#chance.maybe(0.3)) continue
      const replayId = `r${++this.#replays}`
      const replaying = await store.change(letter.id, {
        from: state,
        to: 'replaying',
        at: clock.now(),
        replayId,
      })
      if (replaying === undefined) continue
      const { event, replays } = replaying
      recordStateChange(history, 'operator', letter, replaying)
      history.record({ what: 'published', event: event.id, channel, replay: replays, replayId, to: handler })
      // Sending needs only the id of the replay.
      await broker.publish([replayEvent(replaying, { id: replayId } as Replay, replays)])
    }
  }

  /** Replays the letters of sinks, and of the entry limit for all sinks. */
  async resend(machineOf: (event: string) => Machine | undefined): Promise<void> {
    const { plan, store, clock, history } = this.#world
    if (plan.letters !== 'store') return
    const { letters } = await store.list({ channel: 'events', state: 'dead' })
    for (const dead of letters) {
      const { id, event } = dead
      const machine = machineOf(event.id)
      if (machine?.isUp !== true || this.#chance.maybe(0.5)) continue
      const letter = await store.change(id, { from: 'dead', to: 'replaying', at: clock.now() })
      if (letter === undefined) continue
      recordStateChange(history, 'operator', dead, letter)
      history.record({ what: 'resent', event: event.id, sink: letter.handler })
      void machine.resend(letter)
    }
  }

  /** Unblocks the key of every dead-lettered event in an ordered queue. A blocked key waits until someone does this. */
  async unblockKey(): Promise<void> {
    const { plan, broker, history } = this.#world
    const ordered = new Set(
      plan.handlers.filter(({ ordering }) => ordering === 'by-key').map(({ name }) => name),
    )
    const dead = new Map<string, string>()
    for (const fact of history.of('settled', 'unblockKey')) {
      if (fact.what === 'unblockKey') {
        // An event that one handler has unblocked may be dead for another handler.
        if (fact.handler === undefined) dead.delete(fact.event)
      } else if (fact.outcome === 'dead' && ordered.has(fact.handler)) {
        const event = plan.events.get(fact.event)
        if (event !== undefined && event.eventKind !== 'undecodable') dead.set(fact.event, event.channel)
      }
    }
    for (const [event, channel] of dead) {
      this.discarded.push(...broker.deadLetters.filter(letter => letter.event.id === event))
      history.record({ what: 'unblockKey', event, channel })
      await broker.unblockKey(channel, event)
    }
  }
}
