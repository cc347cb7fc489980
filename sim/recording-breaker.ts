import type { BreakerOutcome } from '../src/core/breaker/breaker.ts'
import type { BreakerOpenError } from '../src/core/breaker/errors.ts'
import { type BreakerOptions, type BreakerPolicy, resolveBreaker } from '../src/core/breaker/options.ts'
import type { BreakerState } from '../src/core/breaker/state.ts'
import { Breaker } from '../src/runtime/breaker.ts'
import type { Process } from './process.ts'

/** The breaker of a consumer or a sink, which also records every admission and every result. */
export class RecordingBreaker extends Breaker {
  readonly #process: Process
  readonly #policy: BreakerPolicy
  #isSettling = false
  readonly #who: { readonly consumer: string; readonly handler: string }

  constructor(process: Process, name: string, options: BreakerOptions) {
    const policy = resolveBreaker(options, 'consumer')
    super(policy, { name, clock: process, observer: {} })
    this.#process = process
    this.#policy = policy
    this.#who = { consumer: `${process.name}/${name}`, handler: name }
  }

  override admit(now: number): number | BreakerOpenError {
    const before = this.state
    const admission = super.admit(now)
    const { history } = this.#process.world
    if (typeof admission === 'number' && this.#process.isAlive) {
      const isAllowed = mayAdmit(before, this.#policy, now)
      history.record({ what: 'admitted', ...this.#who, before: before.mode, isAllowed })
    }
    return admission
  }

  /** `succeeded` can call `settle`; the flag keeps the result from being recorded twice. */
  override succeeded(epoch: number): void {
    this.#end()
    this.#isSettling = true
    super.succeeded(epoch)
    this.#isSettling = false
  }

  override settle(epoch: number, outcome: BreakerOutcome, now: number): void {
    if (!this.#isSettling) this.#end()
    super.settle(epoch, outcome, now)
  }

  #end(): void {
    if (this.#process.isAlive) this.#process.world.history.record({ what: 'admissionEnded', ...this.#who })
  }
}

/** The admission rule of breakers, written a second time and independently of the code under test. */
function mayAdmit(state: BreakerState, policy: BreakerPolicy, now: number): boolean {
  if (state.mode === 'closed' || state.mode === 'forced-closed') return true
  if (state.mode === 'forced-open') return false
  if (state.mode === 'open') return now >= state.until
  const isFree = state.probesInFlight < policy.probes
  const areGivenUp = now >= state.lastProbeAt + policy.openMs
  return isFree || areGivenUp
}
