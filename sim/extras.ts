import type { EventKind, HandlerPlan } from './plan.ts'

/** A function that a user hands in and that may break. `thrown` is the value that the handler throws. */
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
 * What a stranger publishes: somebody who can reach the broker and has seen event and letter ids, but knows no replay id.
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
 * Features that only some worlds have. They are drawn, and played, from streams of their own: a seed without them keeps the
 * world that it had before they were added.
 */
export interface Extras {
  /** More handlers for the channels, so that one of them has up to four. */
  readonly handlers: readonly HandlerPlan[]
  readonly followUps: FollowUpPlan | undefined
  /** The share of runs that ignore their signal and end after their deadline. */
  readonly lateShare: number
  readonly forgeries: readonly ForgeryPlan[]
  /** When the operator replays letters, on top of what is drawn for every world. */
  readonly replaysAtMs: readonly number[]
  /** How long letters are kept; undefined: nothing cleans up. */
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
