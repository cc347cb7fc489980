import { JetStreamError } from '../errors.ts'
import type { HeaderList } from './headers.ts'

/** Headers by which a server from 2.12 on stores messages together or not at all, in their order. */
const BATCH_ID = 'Nats-Batch-Id'
const BATCH_SEQUENCE = 'Nats-Batch-Sequence'
const BATCH_COMMIT = 'Nats-Batch-Commit'

const MAX_BATCH_BYTES = 4_000_000
/** A server writes a batch twice. So many messages of a key cost more than that, one round trip after the other. */
const HOT_KEY = 8

/** An error of the server: a message has the id of one that the stream has. Ids are not used twice, so that it has the whole batch. */
export const BATCH_IS_STORED = 10_201

/** Errors of a server that takes no batches of ours: they are switched off, cannot have ids (2.12.0), or must be smaller. */
const REFUSALS: ReadonlySet<number> = new Set([10_174, 10_177, 10_199])

/** Whether the stream would refuse the next batch too. */
export function refusesBatches(error: unknown): boolean {
  return error instanceof JetStreamError && REFUSALS.has(error.errorCode)
}

interface Keyed {
  readonly message: { readonly stream: string; readonly key?: string | undefined }
}

/** The messages of each stream that has many messages of one key among them. */
export function messagesWithHotKeys<T extends Keyed>(
  messages: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const streams = new Map<string, { readonly all: T[]; readonly counts: Map<string, number> }>()
  for (const each of messages) {
    const { stream, key } = each.message
    const { all, counts } = streams.get(stream) ?? { all: [], counts: new Map<string, number>() }
    all.push(each)
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1)
    streams.set(stream, { all, counts })
  }
  const hot = new Map<string, readonly T[]>()
  for (const [stream, { all, counts }] of streams)
    if (Math.max(...counts.values()) >= HOT_KEY) hot.set(stream, all)
  return hot
}

/** The same messages in batches that a server can keep in memory until they are whole. */
export function inBatches<T extends { readonly message: { readonly data: Uint8Array } }>(
  messages: readonly T[],
): readonly T[][] {
  const batches: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const each of messages) {
    bytes += each.message.data.length
    if (bytes > MAX_BATCH_BYTES) {
      batches.push([])
      bytes = each.message.data.length
    }
    batches.at(-1)!.push(each)
  }
  return batches
}

/** The headers of a message in a batch of so many. The last one makes the server store them all. */
export function batchHeaders(id: string, index: number, size: number): HeaderList {
  const headers = [[BATCH_ID, id] as const, [BATCH_SEQUENCE, String(index + 1)] as const]
  return index === size - 1 ? [...headers, [BATCH_COMMIT, '1'] as const] : headers
}
