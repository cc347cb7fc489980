import { bytesOf, listOf } from '../connection/replies.ts'
import type { HandlerContext } from './context.ts'
import { decode, decodeBytes } from './decode.ts'
import { StreamDelivery } from './delivery.ts'
import { type Entry, mayBeDamaged, readLog } from './entry.ts'

/** Makes deliveries of entries, and holds them back while the subscriber is paused or busy. */
export class DeliveryBuffer {
  readonly #context: HandlerContext
  /** The number of deliveries that the subscriber can still take. */
  readonly #room: () => number
  readonly #deliver: (delivery: StreamDelivery) => void
  #held: StreamDelivery[] = []
  #isPaused = false

  constructor(context: HandlerContext, room: () => number, deliver: (delivery: StreamDelivery) => void) {
    this.#context = context
    this.#room = room
    this.#deliver = deliver
  }

  get held(): readonly StreamDelivery[] {
    return this.#held
  }

  async receive(entries: readonly Entry[]): Promise<void> {
    this.#held.push(...(await this.read(entries)))
    this.pump()
  }

  /** Delivers as many as there is room for. */
  pump(): void {
    if (this.#isPaused || this.#held.length === 0) return
    const deliveries = this.#held.splice(0, Math.max(0, this.#room()))
    for (const delivery of deliveries) this.#deliver(delivery)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.pump()
  }

  takeAll(): readonly StreamDelivery[] {
    const held = this.#held
    this.#held = []
    return held
  }

  async read(entries: readonly Entry[]): Promise<readonly StreamDelivery[]> {
    const { keys, settings } = this.#context
    const codec = settings.codec.events
    const deliveries: StreamDelivery[] = []
    for (const entry of entries) {
      const log = readLog(entry, codec.texts)
      const bytes = mayBeDamaged(entry) ? await this.#bytesOf(entry) : []
      // An entry that was deleted since it was read has no bytes: its texts are all that is left.
      const source = { channel: keys.channel, from: log.from, codec }
      const content = bytes.length === 0 ? decode(entry.fields, source) : decodeBytes(bytes, source)
      deliveries.push(new StreamDelivery(settings.name, keys, entry, log, content))
    }
    return deliveries
  }

  /** The client returns the bytes of the reply. A script that encodes a large entry would outlast the time limit. */
  async #bytesOf({ side, id }: Entry): Promise<readonly Buffer[]> {
    const { connection, keys } = this.#context
    const key = keys[side]
    const options = { key, idempotent: true, asBytes: true }
    const [found] = listOf(await connection.send('reading an entry', ['XRANGE', key, id, id], options))
    return listOf(listOf(found)[1]).map(bytesOf)
  }
}
