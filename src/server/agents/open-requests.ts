import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import type { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { type Clock, settlesWithin } from '../../ports/clock.ts'

/** How long requests under way may take when the input has ended. */
const GRACE_MS = 5_000
/** The answer to it comes when the connection ends. */
const SUBSCRIPTION = 'subscriptions/listen'

/** The requests of a client that have no answer yet. */
export class OpenRequests {
  readonly #clock: Clock
  readonly #open = new Set<RequestId>()
  readonly #answered = Promise.withResolvers<void>()
  #isLast = false

  /** `transport` has its receiver already. */
  constructor(transport: StdioServerTransport, clock: Clock) {
    this.#clock = clock
    const receive = transport.onmessage
    transport.onmessage = message => {
      this.#received(message)
      receive?.(message)
    }
    const send = transport.send.bind(transport)
    transport.send = message => send(message).finally(() => this.#sent(message))
  }

  /** Resolves when no request is open, when the time for that is over, or when the signal aborts. */
  async end(signal: AbortSignal | undefined): Promise<void> {
    this.#isLast = true
    this.#check()
    await settlesWithin(this.#clock, GRACE_MS, this.#answered.promise, signal)
  }

  #received(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message && message.method !== SUBSCRIPTION) this.#open.add(message.id)
    // A request that the client has cancelled gets no answer.
    if (message.method === 'notifications/cancelled')
      this.#open.delete(message.params?.['requestId'] as RequestId)
  }

  #sent(message: JSONRPCMessage): void {
    if ('method' in message || message.id === undefined) return
    this.#open.delete(message.id)
    this.#check()
  }

  #check(): void {
    if (this.#isLast && this.#open.size === 0) this.#answered.resolve()
  }
}
