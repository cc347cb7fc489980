import type { EndedWorld } from './checker.ts'

/**
 * When faults stop, the world comes to rest in bounded time: everything published is finished with, spills are empty,
 * no replay is without its outcome. And nothing ever went wrong that is a mistake of the code itself.
 */
export function* completion({ isIdle, depths, spilled, history }: EndedWorld): Iterable<string> {
  if (!isIdle) {
    const left = Object.entries(depths).map(([handler, depth]) => `${depth} in queue ${handler}`)
    yield `not at rest in time: ${[...left, `${spilled} in spills`].join(', ')}`
  }
  for (const { consumer, error } of history.of('unexpectedError'))
    yield `${consumer} made a mistake: ${error}`
}
