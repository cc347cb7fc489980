import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Sink, WriteResult } from '../../../ports/sink.ts'
import { HttpError } from '../services/http-error.ts'
import { RemoteService } from '../services/latency.ts'

/** The screen hangs up on more than so many at once. */
const MOST_AT_ONCE = 25

/** What the screen has a place for. */
const SHOWN: ReadonlySet<string> = new Set(['order.placed', 'payment.taken', 'page.viewed', 'cart.filled'])

/** Stands in for the screen in the shop's office that shows what is going on: small, simple, on a thin line. */
export class Wallboard extends RemoteService implements Sink {
  async write(
    batch: readonly LazaretEvent[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<WriteResult> {
    await this.latency(`wallboard ${batch[0]?.id}`, signal)
    if (batch.length > MOST_AT_ONCE) throw hungUp()
    return { rejected: batch.flatMap(({ type }, index) => (SHOWN.has(type) ? [] : [refused(type, index)])) }
  }
}

function hungUp(): Error {
  return Object.assign(new Error('write ECONNRESET'), { code: 'ECONNRESET' })
}

function refused(type: string, index: number): { readonly index: number; readonly error: Error } {
  return { index, error: new HttpError(422, `the wallboard has no place for ${type}`) }
}
