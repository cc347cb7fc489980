import type { LazaretEvent } from '../../core/event/event.ts'
import type { Broker, BrokerCapabilities, Delivery, Settlement, Subscription } from '../../ports/broker.ts'

/** How a call that was handed over as a delivery ends: with the handler's own result, or not at all yet. */
export interface InlineCall {
  readonly args: readonly unknown[]
  /** Runs the handler in the async context of whoever called, at every attempt. */
  readonly inContext: <A extends unknown[], R>(work: (...args: A) => R, ...args: A) => R
  result: unknown
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * The broker of `withDeadLetters`: every call of the wrapped handler is a delivery, and settling it ends the call. The
 * real broker is the other client's, so this one keeps nothing: what is given back is thrown to that client, which
 * hands it over again.
 */
export class InlineBroker implements Broker, Subscription {
  readonly name = 'inline'
  readonly capabilities: BrokerCapabilities = {
    delay: false,
    keyOrder: false,
    deadLetters: false,
    durable: false,
  }
  readonly calls = new Map<Delivery, InlineCall>()
  /** By the event's headers: a schema makes another event of it, with another payload and the same headers. */
  readonly #byHeaders = new WeakMap<LazaretEvent['headers'], InlineCall>()
  #deliver: ((delivery: Delivery) => void) | undefined

  handOver(delivery: Delivery, call: InlineCall): void {
    this.calls.set(delivery, call)
    this.#byHeaders.set((delivery.content as LazaretEvent).headers, call)
    this.#deliver?.(delivery)
  }

  callOf(event: LazaretEvent): InlineCall | undefined {
    return this.#byHeaders.get(event.headers)
  }

  settle(delivery: Delivery, settlement: Settlement): void {
    const call = this.calls.get(delivery)
    this.calls.delete(delivery)
    if (settlement.outcome === 'done' || settlement.outcome === 'dead') call?.resolve(call.result)
    else call?.reject(new GivenBack(delivery.channel))
  }

  async subscribe(_options: unknown, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    this.#deliver = deliver
    return this
  }

  async close(): Promise<void> {
    for (const [delivery, call] of this.calls) call.reject(new GivenBack(delivery.channel))
    this.calls.clear()
  }

  async publish(): Promise<void> {
    throw new Error('withDeadLetters wraps a handler; publish with the client it belongs to')
  }

  begin(): void {}
  pause(): void {}
  resume(): void {}
  async letGo(): Promise<void> {}
}

/** Thrown to the client, so that it keeps the message. */
class GivenBack extends Error {
  override readonly name = 'GivenBack'

  constructor(source: string) {
    super(`the handler of '${source}' gave the message back: it was not handled and must be delivered again`)
  }
}
