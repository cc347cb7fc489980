import { Chance } from './chance.ts'
import type { PlannedAction } from './draw-faults.ts'

/** The share of worlds whose clock swings. The seeds of older mistakes in docs/testing.md have none: they keep their worlds. */
const SWINGS = 0.05
const STEPS_MS = [-3_600_000, -3_600_000, 3_600_000, 3_600_000, -90_000, 90_000]

/**
 * A clock that is set back and forth by an hour, several times. The time to come to rest stays the same. Worlds with a fleet
 * have none: after such a step a replay can stand still until the clock of the store has caught up.
 */
export function drawSwings(seed: number, faultPhaseMs: number): readonly PlannedAction[] {
  const chance = new Chance(seed, 47)
  if (!chance.maybe(SWINGS)) return []
  return Array.from({ length: chance.int(1, 6) }, () => ({
    kind: 'jump',
    atMs: chance.int(0, faultPhaseMs),
    ms: chance.pick(STEPS_MS),
  }))
}
