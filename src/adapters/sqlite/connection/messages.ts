import type { OpenedFile } from '../../../adapter-kit/opened-file.ts'

// What the caller's thread and the two threads of a database say to each other. Letters, events and replays cross as
// texts that only the caller's side reads, so that the threads need no codec and a request costs little to copy.

/** The part of the thread, its method and the arguments. */
export type Call = readonly [part: string, method: string, args: readonly unknown[]]

/** Runs a call in the thread that has the part. */
export function makeCall(parts: object, [part, method, args]: Call): unknown {
  const target: unknown = Reflect.get(parts, part)
  return Reflect.apply(Reflect.get(target as object, method), target, args)
}

/** Calls that cross together; an empty list means that the thread must end. */
export interface CallBatch {
  readonly now: number
  /** The same moment by the monotonic clock, which no one can set. Waits use it. */
  readonly steadyNow: number
  readonly calls: readonly Call[]
}

/** The first that a thread says; then it is an answer to every batch. */
export type Opening =
  | { readonly opened: true; readonly file: OpenedFile | undefined }
  | { readonly opened: false; readonly failure: Failure }

export interface Answer {
  /**
   * The results in the order of the calls, whatever batches they came in. A number means that so many calls have no
   * result.
   */
  readonly results: readonly unknown[] | number
  /** The calls that failed, by their place among the results. */
  readonly failed?: readonly (readonly [number, Failure])[] | undefined
  /** Deliveries one behind the other, each the fields of a DeliveryRow. */
  readonly deliveries?: readonly unknown[] | undefined
  /** The time at which the next retry is due for a subscription of this process. */
  readonly dueAt?: number | undefined
}

/** A delivery as it comes from the writing thread. A tuple, because names of fields would be copied with each. */
export type DeliveryRow = readonly [
  subscription: number,
  owner: number,
  place: number,
  body: string | Uint8Array,
  started: number,
  ended: number,
  history: string | null,
  /** The id of a letter that is kept of its event. */
  letter: string | null,
]
export const DELIVERY_STRIDE = 8

/** An error as it crosses threads. */
export interface Failure {
  readonly kind: 'sqlite' | 'newer' | 'foreign' | 'damaged' | 'gone' | 'start' | 'bug'
  readonly message: string
  readonly errcode?: number | undefined
  readonly stack?: string | undefined
}

export interface ThreadData {
  readonly path: string
  readonly role: 'write' | 'read'
  readonly busyTimeoutMs: number
  /** The file that this process has opened already: the thread opens no other. Undefined for the first thread. */
  readonly opened?: OpenedFile | undefined
}
