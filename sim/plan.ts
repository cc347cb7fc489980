import type { BreakerOptions } from '../src/core/breaker/options.ts'
import type { RetryLimitOptions } from '../src/core/limit/options.ts'
import type { Backoff } from '../src/core/retry/backoff.ts'
import type { BudgetOptions } from '../src/core/retry/budget.ts'

/**
 * What an event is by eventKind, whatever the weather.
 * - `fine`: its handler can handle it.
 * - `hopeless`: fails for good, at once. `stubborn`: fails the same way every time. `sickly`: as if its dependency were
 *   down, for it alone, every time. `killer`: takes its process down.
 * - `misshapen`: does not fit its schema. `stale`: expires soon. `garbled`: is not an event at all.
 */
export type EventKind =
  | 'valid'
  | 'fails-permanently'
  | 'fails-alike'
  | 'fails-transiently'
  | 'crashes-process'
  | 'schema-mismatch'
  | 'expires-soon'
  | 'undecodable'

export interface EventPlan {
  readonly name: string
  readonly channel: string
  readonly eventKind: EventKind
  readonly key: string | undefined
  readonly idempotencyKey: string
  readonly publishMs: number
  readonly expiresInMs: number | undefined
  /** The filter of handlers that have one does not keep its letter. */
  readonly isFiltered: boolean
  /** Published by the producer, and not by a handler or a stranger. */
  readonly isPlanned: boolean
  /** What it is by eventKind to a certain handler, where that differs. */
  readonly kindByHandler?: { readonly [handler: string]: EventKind }
}

/** A handler: consumers in several processes share its queue. */
export interface HandlerPlan {
  readonly name: string
  readonly channel: string
  readonly ordering: 'none' | 'by-key'
  readonly retry: { readonly attempts: number; readonly backoff: Backoff }
  readonly breaker: BreakerOptions | 'off'
  readonly whenOpen: 'pause' | 'retry-later' | 'dead-letter'
  readonly retryLimit: RetryLimitOptions | undefined
  readonly budget: BudgetOptions | undefined
  readonly poison: { readonly repeats: number; readonly windowMs: number; readonly crashes: number } | 'off'
  readonly timeoutMs: number
  readonly concurrency: number
  readonly prefetch: number
  readonly inProcessWaitMs: number
  readonly graceMs: number
  readonly hasSchema: 'no' | 'sync' | 'async'
  readonly hasFilter: boolean
}

/** A sink, as one dispatcher writes to it. */
export interface SinkPlan {
  readonly name: string
  readonly retry: { readonly attempts: number; readonly backoff: Backoff }
  readonly breaker: BreakerOptions | 'off'
  readonly whenOpen: 'dead-letter' | 'wait'
  readonly retryLimit: RetryLimitOptions | 'off'
  readonly timeoutMs: number
  readonly concurrency: number
  readonly batch: { readonly maxCount: number; readonly maxWaitMs: number }
  readonly buffer: { readonly maxEvents: number; readonly overflow: 'dead-letter' | 'drop-newest' | 'block' }
  readonly hasProbe: boolean
}

export interface EmitterPlan {
  readonly sinks: readonly SinkPlan[]
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | undefined
  readonly hasJournal: boolean
  readonly hasFilter: boolean
  readonly graceMs: number
  readonly checkEveryMs: number | 'off'
}

/** An event that the process on a machine tracks. */
export interface TrackPlan {
  readonly name: string
  readonly machine: string
  readonly atMs: number
  readonly eventKind: 'valid' | 'fails-permanently' | 'expires-soon'
  readonly isCritical: boolean
  readonly wait: 'outcome' | 'accepted'
  readonly onFailure: 'throw' | 'swallow'
  readonly isFiltered: boolean
}

export interface MachinePlan {
  readonly name: string
  readonly handlers: readonly HandlerPlan[]
  readonly emitter: EmitterPlan | undefined
}
