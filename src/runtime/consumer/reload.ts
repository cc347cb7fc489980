import {
  NOTHING_TO_RELOAD,
  type OptionValues,
  type PreparedReload,
  type ReloadablePart,
  RunningOptions,
  staysGiven,
  staysOn,
} from '../reload/policy-source.ts'
import {
  type ConsumerInternals,
  type ConsumerOptions,
  type ConsumerPolicy,
  changeConsumer,
  DEFAULT_CONCURRENCY,
} from './consumer-options.ts'

/** Broker and subscription have got the others already. */
const ONLY_BY_RESTART: readonly string[] = ['prefetch', 'ordering', 'inProcessWaitMs', 'release', 'host']

/** Whether a running consumer can take over another value of an option. */
function canChange({ prefetch }: ConsumerPolicy, name: string, from: unknown, to: unknown): boolean {
  if (name === 'breaker' || name === 'retryLimit') return staysOn(from, to)
  if (name === 'budget') return staysGiven(from, to)
  // The broker hands over no more deliveries than it was told at the start.
  if (name === 'concurrency') return Number(to ?? DEFAULT_CONCURRENCY) <= prefetch
  return !ONLY_BY_RESTART.includes(name)
}

/** Takes over new options of a file for a running consumer. */
export class ConsumerReload implements ReloadablePart {
  readonly #policy: ConsumerPolicy
  readonly #options: RunningOptions<ConsumerOptions>
  readonly #internals: ConsumerInternals
  readonly #changed: () => void
  #isClosed = false

  /** `changed`: the policy allows more than before. */
  constructor(
    policy: ConsumerPolicy,
    options: ConsumerOptions,
    internals: ConsumerInternals,
    changed: () => void,
  ) {
    this.#policy = policy
    this.#options = new RunningOptions(options)
    this.#internals = internals
    this.#changed = changed
    this.#options.attach(this)
  }

  /** The consumer closes: from now on it keeps its options. */
  close(): void {
    this.#isClosed = true
  }

  prepareReload(options: OptionValues): PreparedReload {
    if (this.#isClosed) return NOTHING_TO_RELOAD
    const policy = this.#policy
    const { input, changes } = this.#options.next(options, (...change) => canChange(policy, ...change))
    const change = changeConsumer(policy, input, this.#internals)
    return {
      changes,
      apply: () => {
        change()
        this.#options.commit(input)
        this.#changed()
      },
    }
  }
}
