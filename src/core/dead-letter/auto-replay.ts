import type { Category } from '../failure/failure.ts'
import { list, oneOf, type Rule } from '../options/rules.ts'
import type { DeadLetter } from './letter.ts'

/** Decides whether automatic replay may send a letter. */
export type AutoReplayTest = (letter: DeadLetter) => boolean

const categories = list(oneOf('transient', 'schema', 'business', 'integration', 'unknown'))

/** The rule for the option `autoReplay`: categories, or a function. */
export const autoReplayRule: Rule<AutoReplayTest> = {
  form: categories.form,
  read(value, path, faults) {
    if (value === undefined) return () => false
    if (typeof value === 'function') return value as AutoReplayTest
    if (!Array.isArray(value)) {
      faults.add(
        path,
        value,
        "give categories such as ['transient'], or a function that returns true or false",
      )
      return () => false
    }
    const allowed: ReadonlySet<Category> = new Set(categories.read(value, path, faults))
    return ({ cycle }) => allowed.has(cycle.category)
  },
}
