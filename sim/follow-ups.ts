import { createEvent, type LazaretEvent } from '../src/core/event/event.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import type { Process } from './process.ts'

/**
 * Publishes a follow-up event with all headers of the handled event, as many handlers do to pass on a trace or a
 * tenant. Each run publishes its own event. Follow-ups have no follow-ups.
 */
export function followUpOf(
  process: Process,
  event: LazaretEvent,
  run: number,
): (() => void | Promise<void>) | undefined {
  const { plan, extraChance, clock } = process.world
  const { followUps } = plan.extras
  if (followUps === undefined || plan.events.get(event.id)?.isPlanned !== true) return undefined
  if (!extraChance.maybe(followUps.share)) return undefined
  const name = `${event.id}+${run}`
  const eventKind = extraChance.pick(followUps.eventKinds)
  return () =>
    process.callPort('broker', 'publish', () => {
      const { world } = process
      const next = createEvent(
        {
          id: name,
          type: name,
          channel: followUps.to,
          key: event.key,
          headers: event.headers,
          payload: { order: name },
        },
        { now: clock.now(), newId: createIdSource(extraChance.random) },
      )
      world.addEvent(next, eventKind)
      world.history.record({
        what: 'published',
        event: name,
        channel: followUps.to,
        replay: 0,
        follows: event.id,
      })
      return world.broker.publish([next])
    })
}
