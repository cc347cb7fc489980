import type { Replay } from '../../../ports/replays.ts'
import type { JournalRecord } from '../journal/line.ts'
import { type JournalUser, UnreadableError } from '../journal/segment-set.ts'

export interface Lease {
  readonly id: string
  readonly owner: string
  readonly until: number
}

const REPLAY = 'replay'
const LEASE = 'lease'

export function replayRecord(replay: Replay): JournalRecord {
  return { kind: REPLAY, text: JSON.stringify(replay) }
}

export function leaseRecord(lease: Lease): JournalRecord {
  return { kind: LEASE, text: JSON.stringify(lease) }
}

/** Replays without their items, and who runs them: of each, what was written last. */
export class ReplayBook implements JournalUser {
  readonly #replays = new Map<string, Replay>()
  readonly #leases = new Map<string, Lease>()

  get(id: string): Replay | undefined {
    return this.#replays.get(id)
  }

  get all(): readonly Replay[] {
    return [...this.#replays.values()]
  }

  leaseOf(id: string): Lease | undefined {
    return this.#leases.get(id)
  }

  apply({ kind, text }: JournalRecord): void {
    if (kind === REPLAY) this.put(parse(text))
    if (kind === LEASE) this.putLease(parse(text))
  }

  put(replay: Replay): void {
    this.#replays.set(replay.id, replay)
  }

  putLease(lease: Lease): void {
    this.#leases.set(lease.id, lease)
  }

  reset(): void {
    this.#replays.clear()
    this.#leases.clear()
  }
}

function parse<T extends { readonly id: string }>(text: string): T {
  const value: Partial<T> | null = JSON.parse(text)
  if (typeof value?.id === 'string') return value as T
  throw new UnreadableError('has no id')
}
