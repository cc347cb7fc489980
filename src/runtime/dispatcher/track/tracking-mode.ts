import { AsyncLocalStorage } from 'node:async_hooks'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { list, oneOf, optional, type Rule, text, withDefault } from '../../../core/options/rules.ts'

/** The effect of a tracking failure: `track` rejects, or the caller continues and the failure is counted. */
export type OnTrackingFailure = 'throw' | 'swallow'

/**
 * Where the code runs that tracks an event: in a web request, in a background job, or in neither of them, like a command
 * line or a script.
 */
export type TrackingContext = 'request' | 'cli' | 'job'

/** For whom an event is tracked, and the effect of a failure. */
export interface TrackingScope {
  /** The background job, if it is one. */
  readonly job: string | undefined
  readonly onFailure: OnTrackingFailure
}

/** The scope that `asJob` or `asRequest` opened. It follows the async context, so it cannot leak to other work. */
interface OpenScope {
  readonly context: TrackingContext
  readonly job: string | undefined
  /** What the job says; undefined if the dispatcher decides. */
  readonly onFailure: OnTrackingFailure | undefined
}

/** Options of `asJob()`. */
export interface JobOptions {
  /**
   * `throw` for work that must not go on without its events, such as what compliance asks for
   * [`failOnErrorIn` of the dispatcher, which swallows].
   */
  readonly onFailure?: OnTrackingFailure | undefined
}

const REQUEST: OpenScope = Object.freeze({ context: 'request', job: undefined, onFailure: undefined })
const CLI: OpenScope = Object.freeze({ context: 'cli', job: undefined, onFailure: undefined })

const THROWING: TrackingScope = Object.freeze({ job: undefined, onFailure: 'throw' })
const SWALLOWING: TrackingScope = Object.freeze({ job: undefined, onFailure: 'swallow' })

const scopes = new AsyncLocalStorage<OpenScope>()

const rules = {
  name: text({ maxLength: 200 }),
  onFailure: optional(oneOf('swallow', 'throw')),
}

/** The caller waits and can get the error; a background job must go on. */
const DEFAULT_FAIL_ON_ERROR_IN: readonly TrackingContext[] = Object.freeze(['request', 'cli'])

/** The rule of the dispatcher's option `failOnErrorIn`. */
export const failOnErrorInRule: Rule<readonly TrackingContext[]> = withDefault(
  list(oneOf('request', 'cli', 'job')),
  DEFAULT_FAIL_ON_ERROR_IN,
)

/**
 * Runs a background job: a failure to track inside it does not fail the job, unless `onFailure` or the dispatcher says so. Of
 * nested scopes the innermost counts.
 */
export function asJob<R>(name: string, fn: () => R, options: JobOptions = {}): R {
  const { name: job, onFailure } = resolveOptions('asJob', rules, { ...options, name })
  return scopes.run(Object.freeze({ context: 'job', job, onFailure }), fn)
}

/** Runs a request: a failure to track inside it is thrown, even when a job has started it. */
export function asRequest<R>(fn: () => R): R {
  return scopes.run(REQUEST, fn)
}

/** The scope this code runs in. Code outside of any scope counts as a command line. */
export function trackingScope(): OpenScope {
  return scopes.getStore() ?? CLI
}

/** For whom this code tracks, and the effect of a failure: the call decides, then the job, then the dispatcher. */
export function scopeFor(
  ofCall: OnTrackingFailure | undefined,
  failOnErrorIn: readonly TrackingContext[],
): TrackingScope {
  const { context, job, onFailure: ofJob } = trackingScope()
  const onFailure = ofCall ?? ofJob ?? (failOnErrorIn.includes(context) ? 'throw' : 'swallow')
  if (job !== undefined) return { job, onFailure }
  // Every tracked event asks, so all events without a job share these objects.
  return onFailure === 'throw' ? THROWING : SWALLOWING
}
