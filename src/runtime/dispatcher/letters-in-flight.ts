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
