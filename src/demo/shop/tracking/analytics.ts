import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Sink } from '../../../ports/sink.ts'
import { HttpError } from '../services/http-error.ts'
import { RemoteService } from '../services/latency.ts'

/** Simulates an analytics service with an HTTP API that accepts every event and sometimes fails. */
export class Analytics extends RemoteService implements Sink {
  /** While true, every call gets the status 503. */
  isFailing = false

  async write(batch: readonly LazaretEvent[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.latency(`analytics ${batch[0]?.id}`, signal)
    this.#answer()
  }

  /** The request of a health check. It fails whenever a write would fail, and writes nothing. */
  async probe({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.latency('analytics health', signal)
    this.#answer()
  }

  #answer(): void {
    if (this.isFailing) throw new HttpError(503, 'analytics is overloaded')
  }
}
