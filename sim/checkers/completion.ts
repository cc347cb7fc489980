import type { EndedWorld } from './checker.ts'

/**
 * After the faults stop, the world becomes idle in bounded time: every published event is settled, spills are empty,
 * and every replay has its outcomes. An event that is stuck is as bad as a lost one. The checker also reports
 * unexpected errors of the code under test.
 */
export function* completion({ isIdle, depths, spilled, history }: EndedWorld): Iterable<string> {
  if (!isIdle) {
    const left = Object.entries(depths).map(([handler, depth]) => `${depth} in queue ${handler}`)
    yield `not idle in time: ${[...left, `${spilled} in spills`].join(', ')}`
  }
  for (const { consumer, error } of history.of('unexpectedError'))
    yield `${consumer} had an unexpected error: ${error}`
}
