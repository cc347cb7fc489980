import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Sink } from '../../../ports/sink.ts'
import { HttpError } from '../services/http-error.ts'
import { RemoteService } from '../services/latency.ts'

/** Stands in for an analytics service behind HTTP. It takes everything, and is sometimes away. */
export class Analytics extends RemoteService implements Sink {
  /** On a bad day every call is answered with 503. */
  isFailing = false

  async write(batch: readonly LazaretEvent[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.latency(`analytics ${batch[0]?.id}`, signal)
    this.#answer()
  }

  /** What a health check asks: the answer is worth as much as that of a write, and costs nothing. */
  async probe({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.latency('analytics health', signal)
    this.#answer()
  }

  #answer(): void {
    if (this.isFailing) throw new HttpError(503, 'analytics is overloaded')
  }
}
