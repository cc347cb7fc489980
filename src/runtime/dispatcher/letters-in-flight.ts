/**
 * The letters in flight by dispatcher. All who replay in this process share the set, because a runner or delivery that starts
 * after another one has stopped must not send these letters again.
 */
const LETTERS_IN_FLIGHT = new WeakMap<object, Set<string>>()

export function lettersInFlight(dispatcher: object): Set<string> {
  const known = LETTERS_IN_FLIGHT.get(dispatcher) ?? new Set()
  LETTERS_IN_FLIGHT.set(dispatcher, known)
  return known
}

/** Sends a letter through the dispatcher. The letter is in flight until its outcome is known. */
export async function inFlight<T>(dispatcher: object, letterId: string, send: () => Promise<T>): Promise<T> {
  const letters = lettersInFlight(dispatcher)
  letters.add(letterId)
  try {
    return await send()
  } finally {
    letters.delete(letterId)
  }
}
