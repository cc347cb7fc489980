import type { Category } from '../../../../core/failure/failure.ts'

/** Every handler of a channel has a queue. That of the handler named like the channel has the channel's own name. */
export function queueName(channel: string, handler: string): string {
  return handler === channel ? channel : `${channel}.${handler}`
}

export const deadLetterExchange = (queue: string) => `${queue}.dlx`
export const deadLetterQueue = (queue: string) => `${queue}.dlq`
export const quarantineQueue = (queue: string, category: Category) => `${queue}.dlq.quarantine.${category}`
export const quarantineKey = (queue: string, category: Category) => `${queue}.quarantine.${category}`
export const retryQueue = (queue: string, stepMs: number) => `${queue}.retry.${durationName(stepMs)}`

/**
 * What came back without being settled. It is handled one at a time, so that the next crash tells which one of a whole
 * prefetch window is to blame.
 */
export const suspectsQueue = (queue: string) => `${queue}.suspects`

/** The consumer that holds the token of this queue keeps the order of the other queue. */
export const ownerQueue = (queue: string) => `${queue}.owner`
/** Events that are first of their key and cannot be handled now: they wait, or they are dead. */
export const heldQueue = (queue: string) => `${queue}.held`
/** Tells every consumer that keeps an order in this channel which key is unblocked. */
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
/** A step may be longer than what was asked for by this share, if that saves another round. */
const OVERSHOOT = 0.25

/**
 * The step to wait in next. A queue that expires its messages one by one blocks at its head, so each delay has a queue
 * of its own and there are only so many; a delay in between waits in one step after another, never less than was asked
 * for. `steps` is in rising order.
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
