import { yieldToEventLoop } from '../../../ports/clock.ts'
import type { SentryEvent } from './event.ts'
import type { SentryClient, SentryResponse } from './sdk.ts'

/**
 * What became of a captured event:
 * - `answered`: what its transport said; without a status nothing arrived
 * - `filtered`: the client's own hooks or sampling did not want it
 * - `overflow`: the client had no room for it
 */
export type Delivery =
  | { readonly kind: 'answered'; readonly response: SentryResponse }
  | { readonly kind: 'filtered' }
  | { readonly kind: 'overflow' }

interface Pending {
  readonly delivered: Promise<Delivery>
  readonly settle: (delivery: Delivery) => void
  /** The client has begun to work on it. */
  isBegun: boolean
  /** The client has passed the event to its transport. */
  isSent: boolean
}

/**
 * `captureEvent` returns an id and nothing else, so what became of the event is put together from the client's hooks.
 *
 *   captureEvent ─▶ preprocessEvent ─▶ (processors, beforeSend) ─▶ beforeSendEvent ─▶ transport ─▶ afterSendEvent
 */
export class Deliveries {
  readonly #client: SentryClient
  readonly #pending = new Map<string, Pending>()
  readonly #unhook: readonly (() => void)[]

  constructor(client: SentryClient) {
    this.#client = client
    this.#unhook = [
      client.on('preprocessEvent', ({ event_id }) => {
        const pending = this.#pending.get(event_id ?? '')
        if (pending !== undefined) pending.isBegun = true
      }),
      client.on('beforeSendEvent', ({ event_id }) => {
        const pending = this.#pending.get(event_id ?? '')
        if (pending !== undefined) pending.isSent = true
      }),
      client.on('afterSendEvent', ({ event_id }, response) => {
        this.#pending.get(event_id ?? '')?.settle({ kind: 'answered', response })
      }),
    ]
  }

  /** Never rejects, and may never resolve, because nothing ends a hanging connection. */
  capture(event: SentryEvent): Promise<Delivery> {
    const id = event.event_id
    const underWay = this.#pending.get(id)
    if (underWay !== undefined) return underWay.delivered
    const pending = this.#await(id)
    this.#client.captureEvent(event, { event_id: id })
    if (!pending.isBegun) pending.settle(this.#notBegun())
    // With asynchronous processors it is not known yet whether they accept the event.
    else if (!pending.isSent) void this.#settleIfFiltered(pending)
    return pending.delivered
  }

  /** Stops waiting for it. */
  forget(eventId: string): void {
    this.#pending.delete(eventId)
  }

  close(): void {
    for (const unhook of this.#unhook) unhook()
  }

  #await(id: string): Pending {
    const { promise, resolve } = Promise.withResolvers<Delivery>()
    const pending = {
      delivered: promise,
      settle: (delivery: Delivery) => {
        this.#pending.delete(id)
        resolve(delivery)
      },
      isBegun: false,
      isSent: false,
    }
    this.#pending.set(id, pending)
    return pending
  }

  /** A client begins at once or not at all: sampling said no, if it ever does, or it is busy with too many others. */
  #notBegun(): Delivery {
    const { sampleRate = 1 } = this.#client.getOptions()
    return { kind: sampleRate < 1 ? 'filtered' : 'overflow' }
  }

  /** A completed flush means that all captured events are processed. If a flush fails, the wait continues. */
  async #settleIfFiltered(pending: Pending): Promise<void> {
    try {
      await this.#client.flush()
    } catch {
      return
    }
    // The hooks are called a few promises after what flush waits for.
    await yieldToEventLoop()
    if (!pending.isSent) pending.settle({ kind: 'filtered' })
  }
}
