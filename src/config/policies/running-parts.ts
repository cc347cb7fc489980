import { OptionsError } from '../../core/options/faults.ts'
import type {
  OptionChange,
  OptionValues,
  PolicySource,
  ReloadablePart,
} from '../../runtime/reload/policy-source.ts'
import { ConfigError } from '../config-error.ts'
import type { PolicyReload } from './policies.ts'
import type { PolicySet } from './policy-set.ts'

/** Where the options of a part are in the file. */
interface PartPlace {
  /** Such as `channels.orders`. */
  readonly path: string
  readonly optionsOf: (set: PolicySet) => OptionValues
}

/**
 * The consumers, dispatchers and protected functions that were made of the policies. It does not keep them alive: a service may
 * protect a function for every request.
 */
export class RunningParts {
  readonly #parts = new Map<WeakRef<ReloadablePart>, PartPlace>()
  readonly #collected = new FinalizationRegistry<WeakRef<ReloadablePart>>(part => this.#parts.delete(part))

  source(place: PartPlace, options: OptionValues): PolicySource {
    return {
      options,
      attach: part => {
        const held = new WeakRef(part)
        this.#parts.set(held, place)
        this.#collected.register(part, held)
      },
    }
  }

  /** All parts check the new options before one of them applies any: a reload happens as a whole or not at all. */
  prepare(set: PolicySet, file: string): () => PolicyReload {
    const prepared = [...this.#parts].flatMap(([held, place]) => {
      const part = held.deref()
      return part === undefined ? [] : { place, reload: prepareOne(part, place, set, file) }
    })
    return () => {
      for (const { reload } of prepared) reload.apply()
      const changes = prepared.flatMap(({ place, reload }) =>
        reload.changes.map(change => ({ path: pathOf(place, change), canChange: change.canChange })),
      )
      return {
        applied: pathsOf(changes.filter(({ canChange }) => canChange)),
        needsRestart: pathsOf(changes.filter(({ canChange }) => !canChange)),
      }
    }
  }
}

function prepareOne(part: ReloadablePart, { path, optionsOf }: PartPlace, set: PolicySet, file: string) {
  try {
    return part.prepareReload(optionsOf(set))
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    const faults = error.faults.map(({ path: at, received, remedy }) => `${at}: got ${received}; ${remedy}`)
    throw new ConfigError(
      file,
      `${path} does not fit the options that code gives: ${faults.join('; ')}`,
      error,
    )
  }
}

function pathOf({ path }: PartPlace, { sink, option }: OptionChange): string {
  return `${sink === undefined ? path : `sinks.${sink}`}.${option.replace(/Ms$/, '')}`
}

function pathsOf(changes: readonly { readonly path: string }[]): readonly string[] {
  return [...new Set(changes.map(({ path }) => path))].sort()
}
