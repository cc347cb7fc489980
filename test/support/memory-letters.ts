import type { Clock } from '../../src/ports/clock.ts'
import { createFactory, type Factory } from '../../src/testing/factories.ts'

/** Makes letters that came from the broker of a memory store, so that a replay of them has a way back there. */
export function factoryOf(clock: Clock): Factory {
  const factory = createFactory({ clock })
  return {
    ...factory,
    letter: (input = {}) =>
      factory.letter({ origin: { broker: 'memory', queue: input.channel ?? 'orders' }, ...input }),
  }
}
