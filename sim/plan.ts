import type { BreakerOptions } from '../src/core/breaker/options.ts'
import type { RetryLimitOptions } from '../src/core/limit/options.ts'
import type { Backoff } from '../src/core/retry/backoff.ts'
import type { BudgetOptions } from '../src/core/retry/budget.ts'

/**
 * The kind of an event, which does not depend on faults.
 * - `valid`: its handler can handle it.
 * - `fails-permanently`: one permanent failure. `fails-alike`: the same failure at every attempt. `fails-transiently`:
 *   a transient failure at every attempt. `crashes-process`: every attempt crashes the process.
 * - `schema-mismatch`: does not match its schema. `expires-soon`: expires during the run. `undecodable`: is not an
 *   event at all.
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
  /** Handlers with a filter do not keep its letter. */
  readonly isFiltered: boolean
  /** Published by the producer, and not by a handler or the forger. */
  readonly isPlanned: boolean
  /** The kind of the event for single handlers, where it differs. */
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
  /** Undefined for the limit that every consumer has by default. */
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

/** A sink of one dispatcher. */
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

/** An event that a process tracks. */
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
