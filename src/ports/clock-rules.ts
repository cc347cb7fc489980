import { callable, that, withDefault } from '../core/options/rules.ts'
import type { Random } from '../core/random.ts'
import type { Clock } from './clock.ts'
import { systemClock, systemRandom } from './system-clock.ts'

/** The option `clock` of whatever reads the time: the system's unless another is given. */
export const clockRule = withDefault(that(isClock, 'give a clock with now() and schedule()'), systemClock)

/** The option `random` of whatever draws chances: the system's unless another is given. */
export const randomRule = withDefault(
  callable<Random>('give a function that returns a number from 0 up to 1'),
  systemRandom,
)

function isClock(value: unknown): value is Clock {
  const clock = value as Partial<Clock> | null | undefined
  return typeof clock?.now === 'function' && typeof clock.schedule === 'function'
}
