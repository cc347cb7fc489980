import type { EventKind, HandlerPlan } from './plan.ts'

/** A user function that can break. `thrown` is the value that the handler throws. */
export type UserFunction =
  | 'backoff'
  | 'random'
  | 'classify'
  | 'filter'
  | 'observer'
  | 'schema'
  | 'notifier'
  | 'sink-answer'
  | 'thrown'

/**
 * The kinds of forged events. The forger can reach the broker and knows event and letter ids, but no replay id.
 * - `names-letter`: a new event that names the letter of another event.
 * - `copies-event`: the event of a letter once more, as if a replay had sent it.
 * - `half-filled`: a new event with some of the replay headers, never the one that names its own id.
 * - `names-itself`: a new event that claims to be a replay of itself.
 */
export type ForgeryKind = 'names-letter' | 'copies-event' | 'half-filled' | 'names-itself'

export interface ForgeryPlan {
  readonly kind: ForgeryKind
  readonly atMs: number
}

/** Handlers publish a new event to the channel `to` and copy the headers of the event that they handle. */
export interface FollowUpPlan {
  readonly to: string
  /** The share of successful runs that publish one. */
  readonly share: number
  readonly eventKinds: readonly EventKind[]
}

/**
 * Features of some worlds. They use random sources of their own, so that a seed without extras keeps the world that it
 * had before the feature existed.
 */
export interface Extras {
  /** Additional handlers, so that one channel has up to four. */
  readonly handlers: readonly HandlerPlan[]
  readonly followUps: FollowUpPlan | undefined
  /** The share of runs that ignore their signal and end after their deadline. */
  readonly lateShare: number
  readonly forgeries: readonly ForgeryPlan[]
  /** The times of additional replays by the operator. */
  readonly replaysAtMs: readonly number[]
  /** The retention time of letters; undefined: nothing is cleaned up. */
  readonly retentionMs: number | undefined
  readonly broken: { readonly functions: readonly UserFunction[]; readonly rate: number } | undefined
}

export const NO_EXTRAS: Extras = {
  handlers: [],
  followUps: undefined,
  lateShare: 0,
  forgeries: [],
  replaysAtMs: [],
  retentionMs: undefined,
  broken: undefined,
}
