import { AsyncLocalStorage } from 'node:async_hooks'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { oneOf, text, withDefault } from '../../../core/options/rules.ts'

/** The effect of a tracking failure: `track` rejects, or the caller continues and the failure is counted. */
export type OnTrackingFailure = 'throw' | 'swallow'

/** The job or request for which events are tracked. It follows the async context, so it cannot leak to other work. */
export interface TrackingScope {
  /** The background job, if it is one. */
  readonly job: string | undefined
  readonly onFailure: OnTrackingFailure
}

/** Options of `asJob()`. */
export interface JobOptions {
  /** `throw` for work that must not go on without its events, such as what compliance asks for [swallow]. */
  readonly onFailure?: OnTrackingFailure | undefined
}

/** A web request or a command line: the caller waits and can get the error. */
const REQUEST: TrackingScope = Object.freeze({ job: undefined, onFailure: 'throw' })

const scopes = new AsyncLocalStorage<TrackingScope>()

const rules = {
  name: text({ maxLength: 200 }),
  onFailure: withDefault(oneOf('swallow', 'throw'), 'swallow'),
}

/** Runs a background job: a failure to track inside it never fails the job. Of nested scopes the innermost counts. */
export function asJob<R>(name: string, fn: () => R, options: JobOptions = {}): R {
  const { name: job, onFailure } = resolveOptions('asJob', rules, { ...options, name })
  return scopes.run(Object.freeze({ job, onFailure }), fn)
}

/** Runs a request: a failure to track inside it is thrown, even when a job has started it. */
export function asRequest<R>(fn: () => R): R {
  return scopes.run(REQUEST, fn)
}

/** The scope this code runs in; outside of any it is a request. */
export function trackingScope(): TrackingScope {
  return scopes.getStore() ?? REQUEST
}
