import type { Dispatcher } from '../dispatcher/dispatcher.ts'

/** Closed consumers and dispatchers are neither reported nor commanded. */
export function isOpen({ isClosed }: { readonly isClosed: boolean }): boolean {
  return !isClosed
}

/** The open dispatchers that have the sink. */
export function dispatchersOf<D extends Pick<Dispatcher, 'health' | 'isClosed'>>(
  { dispatchers }: { readonly dispatchers: readonly D[] },
  sink: string,
): readonly D[] {
  return dispatchers.filter(each => isOpen(each) && Object.hasOwn(each.health().sinks, sink))
}
