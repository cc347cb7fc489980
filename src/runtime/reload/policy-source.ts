import { isDeepStrictEqual } from 'node:util'

/** Options by name, as a file gives them. */
export type OptionValues = Readonly<Record<string, unknown>>

/** Options from a file carry their source under this key, which spreading copies. */
export const POLICY_SOURCE: unique symbol = Symbol('lazaret.policySource')

/** Where options came from. It tells the running parts when there are new ones. */
export interface PolicySource {
  /** The options as the file had them. */
  readonly options: OptionValues
  /** The source does not keep the part alive. */
  attach(part: ReloadablePart): void
}

/** A running consumer, dispatcher or protected function. */
export interface ReloadablePart {
  /**
   * Checks the new options of the file and changes nothing yet. Throws an OptionsError if they do not fit those that code
   * gave.
   */
  prepareReload(options: OptionValues): PreparedReload
}

/** New options that are checked. */
export interface PreparedReload {
  readonly changes: readonly OptionChange[]
  apply(): void
}

/** An option that differs between the file and the running part. */
export interface OptionChange {
  /** The sink whose option it is; undefined for an option of the part itself. */
  readonly sink?: string
  readonly option: string
  /** False if the option takes effect only after a restart. */
  readonly canChange: boolean
}

export const NOTHING_TO_RELOAD: PreparedReload = Object.freeze({ changes: [], apply: () => {} })

/**
 * The options that a part runs with. Code may have replaced some of the file's after the spread: those stay as they are, because
 * code takes precedence over the file.
 */
export class RunningOptions<I extends object> {
  readonly #source: PolicySource | undefined
  readonly #ofCode = new Set<string>()
  #input: I

  constructor(input: I) {
    this.#input = input
    this.#source = (input as { readonly [POLICY_SOURCE]?: PolicySource })[POLICY_SOURCE]
    const given = this.#source?.options
    if (given === undefined) return
    for (const name of Object.keys(input)) if (optionOf(input, name) !== given[name]) this.#ofCode.add(name)
  }

  /** Lets the source of the options, if they have one, tell the part about new ones. */
  attach(part: ReloadablePart): void {
    this.#source?.attach(part)
  }

  /** The input with the new options of the file that can change, and a list of all that differ. */
  next(
    options: OptionValues,
    canChange: (name: string, from: unknown, to: unknown) => boolean,
  ): { readonly input: I; readonly changes: readonly OptionChange[] } {
    const names = new Set([...Object.keys(this.#input), ...Object.keys(options)])
    const changes = [...names]
      .filter(name => !this.#ofCode.has(name))
      .filter(name => !isDeepStrictEqual(optionOf(this.#input, name), options[name]))
      .map(option => ({
        option,
        canChange: canChange(option, optionOf(this.#input, option), options[option]),
      }))
    const applied = changes.filter(change => change.canChange).map(({ option }) => [option, options[option]])
    return { input: { ...this.#input, ...Object.fromEntries(applied) }, changes }
  }

  get input(): I {
    return this.#input
  }

  /** The part runs with this input from now on. */
  commit(input: I): void {
    this.#input = input
  }
}

function optionOf(input: object, name: string): unknown {
  return (input as OptionValues)[name]
}

/** A policy with a state of its own can get other limits, but can be turned on and off only by a restart. */
export function staysOn(from: unknown, to: unknown): boolean {
  return isOff(from) === isOff(to)
}

/** The same where a policy that is left out is off. */
export function staysGiven(from: unknown, to: unknown): boolean {
  return (from === undefined) === (to === undefined)
}

function isOff(value: unknown): boolean {
  return value === 'off'
}
