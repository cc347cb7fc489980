import { writePlace } from '../streams/noted-place.ts'
import type { SubscriptionContext } from './context.ts'

/**
 * Notes now and then how far the handler has come. If its consumer is deleted, the next one begins there, although the process
 * that makes it knows only of its own events.
 */
export class PlaceNote {
  readonly #context: SubscriptionContext
  #noted: string | undefined
  #isNoting = false

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** Notes the place if it has changed. A note that fails is made the next time. */
  keep(): void {
    if (this.#isNoting) return
    this.#isNoting = true
    this.#keep()
      .catch(() => {})
      .finally(() => {
        this.#isNoting = false
      })
  }

  async #keep(): Promise<void> {
    const { jetstream, names, streams, publisher } = this.#context
    const stream = names.streams.events
    const created = streams.createdAt(stream)
    const info = await jetstream.consumerInfo(stream, names.consumer)
    // The consumer of a stream that was made again is not that of the old one.
    if (info === undefined || created === undefined || created !== streams.createdAt(stream)) return
    const place = { created, settledTo: info.ack_floor.stream_seq }
    const noted = JSON.stringify(place)
    if (noted === this.#noted) return
    await publisher.publish([writePlace(names, streams.name(names.channel, 'state'), place)])
    this.#noted = noted
  }
}
