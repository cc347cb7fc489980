import { REPLAY_HEADERS } from './replay-headers.ts'

/** A value of a payload that a patch moved or copied: where it is, and where it was. Both are JSON Pointers. */
export interface MovedValue {
  readonly path: string
  /** Undefined if it is not known any more. */
  readonly from: string | undefined
}

interface Operation {
  readonly op: string
  readonly path: string
  readonly from?: string | undefined
}

type Headers = Readonly<Record<string, string>>

/** A longer list is not kept. Brokers limit the size of headers. */
const MAX_CHARACTERS = 4_000
const ANYWHERE: readonly MovedValue[] = [{ path: '', from: undefined }]

/**
 * The header with what patches have moved, in this replay and in those before it; no header if they moved nothing. A letter of the
 * event that a replay sent has the patched payload, and the masks must know which of its values were in masked places.
 */
export function movedHeader(headers: Headers, patch: readonly Operation[] | undefined): Headers {
  const moved = movedBy(patch ?? [], movedValues(headers))
  if (moved.length === 0) return {}
  const text = JSON.stringify(moved.map(({ path, from }) => [path, from]))
  const isKept = text.length <= MAX_CHARACTERS && /^[ -~]*$/.test(text)
  return { [REPLAY_HEADERS.moved]: isKept ? text : JSON.stringify([['', null]]) }
}

/** What patches have moved in the payload of an event. Another program may have written the header. */
export function movedValues(headers: Headers | undefined): readonly MovedValue[] {
  // A letter that another program has changed may have no headers.
  const text = headers?.[REPLAY_HEADERS.moved]
  if (text === undefined) return []
  try {
    const list: unknown = JSON.parse(text)
    if (!Array.isArray(list)) return ANYWHERE
    return list.map(([path, from]) => ({
      path: String(path),
      from: typeof from === 'string' ? from : undefined,
    }))
  } catch {
    return ANYWHERE
  }
}

function movedBy(patch: readonly Operation[], earlier: readonly MovedValue[]): readonly MovedValue[] {
  const moved = [...earlier]
  for (const { op, path, from } of patch) {
    if ((op !== 'move' && op !== 'copy') || from === undefined) continue
    const origins = moved.filter(each => isWithin(from, each.path)).map(each => originOf(each, from))
    const inside = moved.filter(each => isWithin(each.path, from))
    const target = outsideArrays(path)
    moved.push({ path: target, from }, ...origins.map(origin => ({ path: target, from: origin })))
    for (const each of inside)
      moved.push({ path: outsideArrays(path + each.path.slice(from.length)), from: each.from })
  }
  const texts = new Set(moved.map(each => JSON.stringify(each)))
  return [...texts].map((text): MovedValue => JSON.parse(text))
}

/** Where the value at `pointer` was, if it is a part of a moved value. */
function originOf({ path, from }: MovedValue, pointer: string): string | undefined {
  return from === undefined ? undefined : from + pointer.slice(path.length)
}

function isWithin(pointer: string, outer: string): boolean {
  return pointer === outer || pointer.startsWith(`${outer}/`)
}

/** Entries of an array change their places, so the array stands for all of them. A name of digits looks the same. */
function outsideArrays(pointer: string): string {
  const steps = pointer.split('/')
  const at = steps.findIndex(step => /^(\d+|-)$/.test(step))
  return at === -1 ? pointer : steps.slice(0, at).join('/')
}
