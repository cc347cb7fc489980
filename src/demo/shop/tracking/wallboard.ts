import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Sink, WriteResult } from '../../../ports/sink.ts'
import { HttpError } from '../services/http-error.ts'
import { RemoteService } from '../services/latency.ts'

/** The screen closes the connection on larger batches. */
const MAX_AT_ONCE = 25

/** The event types that the screen can show. */
const SHOWN: ReadonlySet<string> = new Set(['order.placed', 'payment.taken', 'page.viewed', 'cart.filled'])

/** Simulates the screen in the office of the shop, on a slow connection. */
export class Wallboard extends RemoteService implements Sink {
  async write(
    batch: readonly LazaretEvent[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<WriteResult> {
    await this.latency(`wallboard ${batch[0]?.id}`, signal)
    if (batch.length > MAX_AT_ONCE) throw hungUp()
    return { rejected: batch.flatMap(({ type }, index) => (SHOWN.has(type) ? [] : [refused(type, index)])) }
  }
}

function hungUp(): Error {
  return Object.assign(new Error('write ECONNRESET'), { code: 'ECONNRESET' })
}

function refused(type: string, index: number): { readonly index: number; readonly error: Error } {
  return { index, error: new HttpError(422, `the wallboard has no place for ${type}`) }
}
