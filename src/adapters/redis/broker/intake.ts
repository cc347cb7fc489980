import type { TextCodec } from '../../../ports/codec.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import { decode, decodeBytes } from './decode.ts'
import { StreamDelivery, type StreamPlace } from './delivery.ts'
import { type Entry, fieldOf, mayBeDamaged } from './entry.ts'
import type { HandlerPlaces } from './keys.ts'
import type { RedisStreamsSettings } from './options.ts'
import { noPast, PAST_FIELD, readPast } from './past.ts'
import { RAW } from './scripts/looking.ts'

interface IntakeParts {
  readonly on: RedisConnection
  readonly places: HandlerPlaces
  readonly settings: RedisStreamsSettings
  /** How many more can be handed over. */
  room(): number
}

/** Makes deliveries of entries, and keeps those back that came while nobody wants them. */
export class Intake {
  readonly #parts: IntakeParts
  readonly #place: StreamPlace
  readonly #deliver: (delivery: StreamDelivery) => void
  #held: StreamDelivery[] = []
  #isPaused = false

  constructor(parts: IntakeParts, deliver: (delivery: StreamDelivery) => void) {
    const { places, settings } = parts
    this.#parts = parts
    this.#place = { broker: settings.name, channel: places.channel, queue: places.events }
    this.#deliver = deliver
  }

  get held(): number {
    return this.#held.length
  }

  get all(): readonly StreamDelivery[] {
    return this.#held
  }

  async receive(entries: readonly Entry[]): Promise<void> {
    this.#held.push(...(await this.read(entries)))
    this.pump()
  }

  /** Hands over as many as there is room for. */
  pump(): void {
    if (this.#isPaused || this.#held.length === 0) return
    const deliveries = this.#held.splice(0, Math.max(0, this.#parts.room()))
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
    const deliveries: StreamDelivery[] = []
    for (const entry of entries)
      deliveries.push(mayBeDamaged(entry) ? await this.#readBytes(entry) : this.#read(entry))
    return deliveries
  }

  /** The event of a delivery as it is written. */
  textOf({ content }: StreamDelivery): string {
    return 'raw' in content
      ? Buffer.from(content.raw).toString()
      : this.#parts.settings.codec.events.encode(content)
  }

  #read(entry: Entry): StreamDelivery {
    const { settings, places } = this.#parts
    const past = pastOf(entry, settings.codec.events.texts)
    const content = decode(entry.fields, places.channel, past.from, settings.codec.events)
    return new StreamDelivery(this.#place, entry.side, entry.id, past, content)
  }

  async #readBytes(entry: Entry): Promise<StreamDelivery> {
    const { on, settings, places } = this.#parts
    const past = pastOf(entry, settings.codec.events.texts)
    const fields = await run(on, RAW, [places[entry.side]], [entry.id], { again: true })
    // Deleted since it was read: the texts are all that is left of it.
    if (fields.length === 0) return this.#read(entry)
    const content = decodeBytes(fields, places.channel, past.from, settings.codec.events)
    return new StreamDelivery(this.#place, entry.side, entry.id, past, content)
  }
}

function pastOf({ fields, id, side }: Entry, texts: TextCodec | undefined) {
  if (side === 'events') return noPast(id)
  const text = fieldOf(fields, PAST_FIELD)
  return text === undefined ? noPast(id) : readPast(text, id, texts)
}
