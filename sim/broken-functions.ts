import type { SaveFilterOptions } from '../src/core/dead-letter/filter.ts'
import type { FailureRule } from '../src/core/failure/failure-rule.ts'
import type { Random } from '../src/core/random.ts'
import type { Backoff } from '../src/core/retry/backoff.ts'
import type { Notifier } from '../src/ports/notifier.ts'
import type { Observer } from '../src/ports/observer.ts'
import type { StandardSchema } from '../src/ports/schema.ts'
import type { UserFunction } from './extras.ts'
import type { HandlerFault } from './faults.ts'
import { never, type Process } from './process.ts'

const OBSERVED = [
  'attemptFailed',
  'retryScheduled',
  'gaveUp',
  'eventProcessed',
  'letterSaved',
  'handlerEnded',
  'settlementFailed',
  'replayOutcome',
] as const

/**
 * The user functions of one consumer, which break during the fault phase. Each function throws; functions that may be
 * async also reject or never answer. Lazaret calls these functions, so their failures must not lose events.
 */
export class BrokenFunctions {
  readonly #process: Process
  readonly #who: { readonly consumer: string; readonly handler: string }

  constructor(process: Process, handler: string) {
    this.#process = process
    this.#who = { consumer: `${process.name}/${handler}`, handler }
  }

  has(name: UserFunction): boolean {
    return this.#process.world.plan.extras.broken?.functions.includes(name) ?? false
  }

  /** Whether this call breaks. */
  breaks(name: UserFunction): boolean {
    const { plan, faults, extraChance, history } = this.#process.world
    const { broken } = plan.extras
    if (broken === undefined || faults.areStopped || !this.has(name) || !extraChance.maybe(broken.rate))
      return false
    faults.count++
    if (this.#process.isAlive) history.record({ what: 'broke', ...this.#who, function: name })
    return true
  }

  /** The handler fault of this run, in worlds with extras. */
  handlerFault(): HandlerFault | undefined {
    const { plan, faults, extraChance } = this.#process.world
    const { lateShare } = plan.extras
    if (lateShare > 0 && !faults.areStopped && extraChance.maybe(lateShare)) {
      faults.count++
      return extraChance.maybe(0.5) ? 'late-success' : 'late-failure'
    }
    return this.breaks('thrown') ? 'throws-unreadable' : undefined
  }

  backoff(given: Backoff): Backoff {
    if (!this.has('backoff')) return given
    return {
      ...given,
      delayMs: (retry, previousDelayMs, random) => {
        if (this.breaks('backoff')) throw new Error('the backoff broke')
        return given.delayMs(retry, previousDelayMs, random)
      },
    }
  }

  random(given: Random): Random {
    if (!this.has('random')) return given
    return () => {
      if (this.breaks('random')) throw new Error('the random source broke')
      return given()
    }
  }

  filter(given: SaveFilterOptions | undefined): SaveFilterOptions | undefined {
    if (!this.has('filter')) return given
    return {
      ...given,
      saveIf: letter => {
        if (this.breaks('filter')) throw new Error('the filter broke')
        return given?.saveIf?.(letter) ?? true
      },
    }
  }

  observer(given: Observer): Observer {
    if (!this.has('observer')) return given
    const broken: { [name: string]: (event: never) => unknown } = {}
    const functions: { readonly [name: string]: ((event: never) => unknown) | undefined } = given
    for (const name of new Set([...OBSERVED, ...Object.keys(given)]))
      broken[name] = event => {
        functions[name]?.(event)
        return this.breaks('observer') ? this.#end('the observer broke', undefined) : undefined
      }
    return broken as Observer
  }

  schema(given: StandardSchema | undefined): StandardSchema | undefined {
    if (!this.has('schema')) return given
    return {
      '~standard': {
        version: 1,
        vendor: 'sim',
        validate: value => {
          if (this.breaks('schema')) return this.#end('the schema broke', { value })
          return given === undefined ? { value } : given['~standard'].validate(value)
        },
      },
    }
  }

  get classify(): readonly FailureRule[] {
    if (!this.has('classify')) return []
    const when = (): boolean => {
      if (this.breaks('classify')) throw new Error('the rule broke')
      return false
    }
    return [{ when, retryable: true }]
  }

  get notifier(): Notifier | undefined {
    if (!this.has('notifier')) return undefined
    const notify = async (): Promise<void> => {
      if (this.breaks('notifier')) await this.#end('the notifier broke', undefined)
    }
    return { notify, close: async () => {} } as Notifier
  }

  /** Throws, rejects, or never answers. */
  #end<T>(message: string, _type: T): Promise<T> {
    const way = this.#process.world.extraChance.int(1, 3)
    if (way === 1) throw new Error(message)
    return way === 2 ? Promise.reject(new Error(message)) : never()
  }
}

/** A value whose every access throws. Code that inspects a thrown value has to survive it. */
export function unreadableValue(): unknown {
  const refuse = () => {
    throw new Error('this value cannot be looked at')
  }
  return new Proxy({}, { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse })
}
