import { connect, headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { BODY } from '../harness/body.ts'

export const BATCH = 1_000
const REQUEST_MS = 30_000
const PULL_NANOSECONDS = 60_000_000_000

/** What a hand-written program does with JetStream, without a library for it: requests in JSON. */
export class BenchStreams {
  readonly url: string
  readonly connection: NatsConnection
  #count = 0

  private constructor(url: string, connection: NatsConnection) {
    this.url = url
    this.connection = connection
  }

  static async on(url: string): Promise<BenchStreams> {
    return new BenchStreams(url, await connect({ servers: url }))
  }

  newName(name: string): string {
    return `${name}-${this.#count++}`
  }

  /** A stream whose subjects begin with its name. */
  async create(name: string, settings: object = {}): Promise<string> {
    await this.request(`STREAM.CREATE.${name}`, { name, subjects: [`${name}.>`], ...settings })
    return name
  }

  async remove(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.request(`STREAM.DELETE.${name}`, {})
  }

  /** The messages of a stream. */
  async size(name: string): Promise<number> {
    const { state } = await this.request<{ state: { messages: number } }>(`STREAM.INFO.${name}`, {})
    return state.messages
  }

  async fill(name: string, messages: number): Promise<void> {
    for (let sent = 0; sent < messages; sent += BATCH)
      await this.publish(`${name}.order`, batchOf(sent, Math.min(BATCH, messages - sent)))
  }

  /** Resolves when the stream has all of them. */
  async publish(subject: string, messages: readonly BenchMessage[]): Promise<void> {
    const options = { timeout: REQUEST_MS }
    await Promise.all(
      messages.map(message =>
        this.connection.request(subject, message.data, { ...options, headers: message.headers }),
      ),
    )
  }

  /** A durable consumer whose messages come to the callback, with this many on their way at most. */
  async consume(stream: string, atOnce: number, onMessage: (message: Msg) => void): Promise<() => void> {
    const config = { durable_name: 'raw', ack_policy: 'explicit', max_ack_pending: -1 }
    await this.request(`CONSUMER.DURABLE.CREATE.${stream}.raw`, { stream_name: stream, config })
    const inbox = `_INBOX.${this.newName('raw')}`
    const pull = (batch: number) =>
      this.connection.publish(
        `$JS.API.CONSUMER.MSG.NEXT.${stream}.raw`,
        JSON.stringify({ batch, expires: PULL_NANOSECONDS }),
        { reply: inbox },
      )
    const half = Math.ceil(atOnce / 2)
    let wanted = atOnce
    const subscription = this.connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) throw error
        if (message.headers !== undefined && message.headers.code > 0) return
        wanted--
        if (wanted <= half) {
          wanted += half
          pull(half)
        }
        onMessage(message)
      },
    })
    pull(atOnce)
    return () => subscription.unsubscribe()
  }

  async request<T>(name: string, body: object): Promise<T> {
    const answer = await this.connection.request(`$JS.API.${name}`, JSON.stringify(body), {
      timeout: REQUEST_MS,
    })
    const read = answer.json<T & { error?: { description: string } }>()
    if (read.error !== undefined) throw new Error(`bench: ${name}: ${read.error.description}`)
    return read
  }

  async close(): Promise<void> {
    await this.connection.close()
  }
}

/** A message as the raw client sends it. */
export interface BenchMessage {
  readonly data: Uint8Array
  readonly headers: MsgHdrs
}

/** CloudEvents, as ours are. */
export function batchOf(from: number, count: number): BenchMessage[] {
  return Array.from({ length: count }, (_, index) => {
    const written = headers()
    written.set('ce-specversion', '1.0')
    written.set('ce-id', `0198f000-0000-7000-8000-${String(from + index).padStart(12, '0')}`)
    written.set('ce-type', 'order.placed')
    written.set('ce-source', '/shop')
    written.set('ce-time', '2026-01-02T03:04:05.678Z')
    written.set('content-type', 'application/json')
    return { data: BODY, headers: written }
  })
}
