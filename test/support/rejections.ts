import { setImmediate } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'

/** The promise of a library, such as a query builder, that resolves with a promise that rejects. */
export function nestedRejection(): PromiseLike<never> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: libraries have such promises
    then(resolve: (value: unknown) => void) {
      resolve(Promise.reject(new Error('rejected within')))
    },
  } as unknown as PromiseLike<never>
}

/** A promise that is not an instance of this realm's `Promise`, as tests in Jest and scripts in `node:vm` make it. */
export function foreignRejection(): PromiseLike<never> {
  return runInNewContext('(async () => { throw new Error("rejected elsewhere") })()')
}

/** Runs the work, and returns the rejections that nothing has handled. Each would end a process. */
export async function unhandledDuring(work: () => unknown): Promise<readonly string[]> {
  const seen: string[] = []
  const own = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', error => seen.push((error as Error).message))
  try {
    await work()
    // Node reports unhandled rejections after the microtasks, before it goes on to the next turn.
    for (let turn = 0; turn < 3; turn++) await setImmediate()
    return seen
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const listener of own) process.on('unhandledRejection', listener)
  }
}
