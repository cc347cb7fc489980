/** A wait that is over within this is waited for in process: another round over the broker would take longer. */
export const IN_PROCESS_REST_MS = 25
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
