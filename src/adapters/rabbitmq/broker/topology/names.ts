import type { Category } from '../../../../core/failure/failure.ts'

/** Every handler of a channel has a queue. The queue of the handler with the channel's name also has that name. */
export function queueName(channel: string, handler: string): string {
  return handler === channel ? channel : `${channel}.${handler}`
}

export const deadLetterExchange = (queue: string) => `${queue}.dlx`
/** The dead letters of one category, if the broker sorts them. `letters` is the dead-letter queue. */
export const categoryQueue = (letters: string, category: Category) => `${letters}.${category}`
export const categoryKey = (queue: string, category: Category) => `${queue}.${category}`
export const quarantineQueue = (letters: string, category: Category) => `${letters}.quarantine.${category}`
export const quarantineKey = (queue: string, category: Category) => `${queue}.quarantine.${category}`
export const retryQueue = (queue: string, stepMs: number) => `${queue}.retry.${durationName(stepMs)}`

/**
 * The queue of messages that were returned unsettled. They run one at a time, so that the next crash shows which message
 * of a whole prefetch window caused it.
 */
export const suspectsQueue = (queue: string) => `${queue}.suspects`

/** The consumer that holds the token of this queue keeps the order of the other queue. */
export const ownerQueue = (queue: string) => `${queue}.owner`
/** The first events of their keys that cannot be handled now: they wait, or they are dead. */
export const heldQueue = (queue: string) => `${queue}.held`
/** Announces unblocked keys to every consumer that keeps the order of this channel. */
export const unblockExchange = (channel: string) => `${channel}.unblock`

const UNITS = [
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** `5s`, `90s`, `250ms`: the largest unit that says it in whole numbers. */
export function durationName(ms: number): string {
  const unit = UNITS.find(([size]) => ms % size === 0)
  return unit === undefined ? `${ms}ms` : `${ms / unit[0]}${unit[1]}`
}

/** A wait that is over within this is waited for in process: another round over the broker would take longer. */
export const IN_PROCESS_WAIT_MS = 25
/** A step may exceed the requested wait by this share, if that saves another step. */
const OVERSHOOT = 0.25

/**
 * Returns the next retry step. A queue expires messages only at its head, so each delay has its own queue, and the number
 * of queues is limited. A wait between two steps uses several steps in sequence, and is never shorter than requested.
 * `steps` must be in ascending order.
 */
export function nextStep(steps: readonly number[], remainingMs: number): number {
  const [smallest] = steps
  let below = smallest!
  for (const step of steps) {
    if (step < remainingMs) below = step
    else if (step <= remainingMs * (1 + OVERSHOOT)) return step
    else break
  }
  return below
}
