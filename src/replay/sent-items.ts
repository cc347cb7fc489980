import type { ReplayRoute } from '../ports/collector.ts'
import type { ReplayItem, Replays } from '../ports/replays.ts'

/** Buffers the sent items of a batch, so that one write records all of them. */
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

  get count(): number {
    return this.#items.length
  }

  /** An item under a delivery stays as it is if somebody else has taken it meanwhile. */
  async record(): Promise<void> {
    const items = this.#items
    this.#items = []
    for (const [delivery, part] of Map.groupBy(items, each => each.delivery))
      await this.#replays.record(this.#id, part, { delivery, status: 'sent' })
  }
}

/** Whether the store has the item as it was recorded here. If not, another run has it. */
export async function isStored(
  replays: Pick<Replays, 'items'>,
  id: string,
  { position, status, sentAt, delivery }: ReplayItem,
): Promise<boolean> {
  const [stored] = await replays.items(id, { after: position - 1, limit: 1 })
  const isSame = stored?.status === status && stored.sentAt === sentAt && stored.delivery === delivery
  return isSame && stored.handedOn === undefined
}
