import { WriteBatcher } from '../../../adapter-kit/write-batcher.ts'
import { run } from '../connection/script.ts'
import type { HandlerContext } from './context.ts'
import type { StreamDelivery } from './delivery.ts'
import { writeLog } from './entry.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { RETURN } from './scripts/settling.ts'

const MAX_BATCH = 200
/** The upper limit of a wait; a longer one makes no difference. */
const MAX_DELAY_MS = 100 * 365 * 86_400_000

interface ReturnRequest {
  readonly delivery: StreamDelivery
  readonly notBefore: number
}

/** Puts entries back, many in one step, so that they come again. */
export class EntryReturns {
  readonly #context: HandlerContext
  readonly #batcher = new WriteBatcher<ReturnRequest, boolean>(MAX_BATCH, items => this.#flush(items))

  constructor(context: HandlerContext) {
    this.#context = context
  }

  /** Resolves to false if this consumer no longer held the entry. */
  add(delivery: StreamDelivery, notBefore: number): Promise<boolean> {
    return this.#batcher.add({ delivery, notBefore })
  }

  async #flush(items: readonly ReturnRequest[]): Promise<boolean[]> {
    const { settings, hasGivenUp } = this.#context
    const outcomes = new Map<ReturnRequest, boolean>()
    // Entries that were deleted while they were open. Only this process still has their events.
    const absent = new Set<ReturnRequest>()
    for (let left = items; left.length > 0; left = [...absent].filter(item => !outcomes.has(item))) {
      const answer = await retryUntilDone(settings, hasGivenUp, async isRepeated => ({
        isRepeated,
        found: await this.#send(left, absent),
      }))
      for (const [index, item] of left.entries()) {
        const found = answer?.found[index] ?? 'lost'
        if (found === 'absent' && !absent.has(item)) absent.add(item)
        // A repeated call may have been heard the first time.
        else outcomes.set(item, found === 'done' || answer?.isRepeated === true)
      }
    }
    return items.map(item => outcomes.get(item) ?? false)
  }

  #send(items: readonly ReturnRequest[], absent: ReadonlySet<ReturnRequest>) {
    const { connection, keys, settings } = this.#context
    const { events, own, waiting, notes, handler } = keys
    const codec = settings.codec.events
    const now = settings.clock.now()
    const args = items.flatMap(item => {
      const { delivery, notBefore } = item
      const { side, id, content, entryLog } = delivery
      // The delay counts from here, so that the wait for the batch before this one is part of it. An entry that is due by
      // now goes straight back into its stream.
      const delayMs = notBefore - now
      // NaN is not a valid delay either: the script would fail after it has taken the entry.
      const delay = delayMs > 0 ? Math.min(MAX_DELAY_MS, Math.ceil(delayMs)) : 0
      const text = () => ('raw' in content ? Buffer.from(content.raw).toString() : codec.encode(content))
      return [side, id, String(delay), writeLog(entryLog, codec.texts), absent.has(item) ? text() : '']
    })
    return run(connection, RETURN, [events, own, waiting, notes], [handler, ...args])
  }
}
