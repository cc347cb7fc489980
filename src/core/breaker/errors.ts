import { LazaretError } from '../failure/errors.ts'
import type { BreakerState } from './state.ts'

interface Refusal {
  readonly breaker: string
  /** The state that refused. */
  readonly state: BreakerState
  readonly retryAt: number | undefined
}

/** The attempt was not made, so nothing happened and nothing needs undoing; it may be made later. */
export class BreakerOpenError extends LazaretError {
  override readonly name = 'BreakerOpenError'
  readonly breaker: string
  /** Epoch milliseconds; undefined while the breaker is forced open. */
  readonly retryAt: number | undefined

  constructor({ breaker, state, retryAt }: Refusal) {
    super(`breaker '${breaker}' refused the attempt: ${reason(state, retryAt)}`, {
      code: 'LAZARET_BREAKER_OPEN',
      retryable: true,
    })
    this.breaker = breaker
    this.retryAt = retryAt
  }
}

function reason(state: BreakerState, retryAt: number | undefined): string {
  const since = `since ${iso(state.since)}`
  const wait =
    retryAt === undefined
      ? ''
      : `; it admits a probe at ${iso(retryAt)}: wait until then, and check the dependency`
  switch (state.mode) {
    case 'forced-open': {
      const by = state.by === undefined ? '' : ` by ${state.by}`
      return `forced open ${since}${by}; it stays open until it is forced to 'auto' or 'closed'`
    }
    case 'half-open':
      return `half-open ${since} and all probes are in flight${wait}`
    default:
      return `${state.mode} ${since}${wait}`
  }
}

/** Never throws: an error about a refusal must not become an error about a date. */
function iso(time: number): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString()
}
