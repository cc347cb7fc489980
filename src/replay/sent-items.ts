import type { ReplayRoute } from '../ports/collector.ts'
import type { ReplayItem, Replays } from '../ports/replays.ts'

/** The items of a batch that have left, until that is written down for all of them at once. */
export class SentItems {
  readonly #replays: Pick<Replays, 'record'>
  readonly #id: string
  #items: ReplayItem[] = []

  constructor(replays: Pick<Replays, 'record'>, id: string) {
    this.#replays = replays
    this.#id = id
  }

  add(item: ReplayItem, { kind }: ReplayRoute): void {
    this.#items.push({ ...item, handedOn: kind === 'in-process' ? 'in-process' : 'durable' })
  }

  async record(): Promise<void> {
    const items = this.#items
    this.#items = []
    if (items.length > 0) await this.#replays.record(this.#id, items)
  }
}
