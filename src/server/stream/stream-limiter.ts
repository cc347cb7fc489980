import { ProblemError } from '../problem.ts'

/** How many streams of changes may be open at once. */
export interface StreamLimits {
  /** Open streams of one token, or of everyone where there are no tokens [20]. */
  readonly perToken?: number | undefined
  /** Open streams in all [200]. */
  readonly total?: number | undefined
}

export const DEFAULT_STREAMS_PER_TOKEN = 20
export const DEFAULT_STREAMS_TOTAL = 200
const RETRY_AFTER_S = 10

/** Limits the number of open streams, because each costs memory and a write for every change. */
export class StreamLimiter {
  readonly #perToken: number
  readonly #total: number
  readonly #openByCaller = new Map<string, number>()
  #open = 0

  constructor({ perToken = DEFAULT_STREAMS_PER_TOKEN, total = DEFAULT_STREAMS_TOTAL }: StreamLimits) {
    this.#perToken = perToken
    this.#total = total
  }

  /** Admits one more stream or throws a 429. The returned function releases it; calling it twice is safe. */
  acquire(caller: string): () => void {
    const own = this.#openByCaller.get(caller) ?? 0
    if (own >= this.#perToken) throw tooMany(`${caller} has ${own} open streams, the limit for one token.`)
    if (this.#open >= this.#total) throw tooMany(`The server has ${this.#open} open streams, its limit.`)
    this.#openByCaller.set(caller, own + 1)
    this.#open++
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#open--
      const left = this.#openByCaller.get(caller)! - 1
      if (left === 0) this.#openByCaller.delete(caller)
      else this.#openByCaller.set(caller, left)
    }
  }
}

function tooMany(problem: string): ProblemError {
  return new ProblemError('too-many-requests', `${problem} Close one, or retry in ${RETRY_AFTER_S} s.`, {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
}
