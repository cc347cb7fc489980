// Replays of a store whose letters are sealed: a patch has values of payloads, a gate says what it found in one, and an error can quote one.
import type { JsonValue } from '../../core/event/event.ts'
import type { TextCodec } from '../../ports/codec.ts'
import type { Replay, ReplayItem, Replays } from '../../ports/replays.ts'
import { withDisclosing } from '../query/letter-query.ts'

/**
 * Writes the values of a patch, the text that letters were searched by, the reasons of gates and the problem of a replay by
 * a codec, and reads them as they were. Without a codec of texts the replays are the store's own.
 */
export function sealedReplays(replays: Replays, texts: TextCodec | undefined): Replays {
  if (texts === undefined) return replays
  const sealValue = (value: JsonValue) => texts.encode(JSON.stringify(value))
  const openValue = (value: JsonValue): JsonValue => {
    if (typeof value !== 'string') return value
    const opened = texts.decode(value)
    return opened === value ? value : (JSON.parse(opened) as JsonValue)
  }
  const seal = (replay: Replay) => changed(replay, sealValue, texts.encode)
  const open = (replay: Replay) => changed(replay, openValue, texts.decode)
  const sealItem = (item: ReplayItem) => withReason(item, texts.encode)
  function* sealItems(items: Iterable<ReplayItem>) {
    for (const item of items) yield sealItem(item)
  }
  return {
    create: (replay, items, ...signal) => replays.create(seal(replay), sealItems(items), ...signal),
    async get(id) {
      const replay = await replays.get(id)
      return replay && open(replay)
    },
    list: async options => (await replays.list(options)).map(open),
    async update(replay) {
      const updated = await replays.update(seal(replay))
      return updated && open(updated)
    },
    items: async (id, query) => (await replays.items(id, query)).map(item => withReason(item, texts.decode)),
    record: (id, items, ...condition) => replays.record(id, items.map(sealItem), ...condition),
    counts: id => replays.counts(id),
    lease: (id, owner, leaseMs) => replays.lease(id, owner, leaseMs),
    releaseLease: (id, owner) => replays.releaseLease(id, owner),
  }
}

function changed(
  replay: Replay,
  ofValue: (value: JsonValue) => JsonValue,
  ofText: (text: string) => string,
): Replay {
  const { patch, selectedBy, problem } = replay
  const { filter } = selectedBy
  return {
    ...replay,
    ...(patch === undefined
      ? {}
      : {
          patch: patch.map(operation =>
            operation.value === undefined ? operation : { ...operation, value: ofValue(operation.value) },
          ),
        }),
    ...(filter === undefined
      ? {}
      : { selectedBy: { ...selectedBy, filter: withDisclosing(filter, ofText) } }),
    ...(problem === undefined ? {} : { problem: { ...problem, reason: ofText(problem.reason) } }),
  }
}

function withReason(item: ReplayItem, ofText: (text: string) => string): ReplayItem {
  return item.reason === undefined ? item : { ...item, reason: ofText(item.reason) }
}
