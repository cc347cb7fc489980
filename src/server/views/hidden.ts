import { DISPLAY_MAX_DEPTH } from '../../core/dead-letter/mask.ts'
import { startCursors, stepInto } from '../../core/dead-letter/mask-path.ts'
import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { isBytes } from '../../core/event/plain.ts'
import type { PatchOperation } from '../../ports/replays.ts'

/** Shorter ones are part of too many words to be hidden inside of them. */
const HIDDEN_ANYWHERE = 4
/** Letters, so that an address of which a part is hidden still looks like one and is masked whole. */
const STAND_IN = 'ꙮꙮꙮ'

/** The masks as they are inside a property or entry; undefined where everything is masked. */
export function masksInto(masks: Masks | undefined, step: string | number): Masks | undefined {
  if (masks === undefined || masks.isMaskedName(String(step))) return undefined
  const { open, arrived } = stepInto(startCursors(masks.paths), step)
  return arrived ? undefined : { ...masks, paths: open }
}

/** The masks of payloads. Names are looked up once: entries of an array mostly have the same. */
export function masksOfPayload(masks: Masks): Masks | undefined {
  const known = new Map<string, boolean>()
  const isMaskedName = (name: string) => {
    const isMasked = known.get(name) ?? masks.isMaskedName(name)
    known.set(name, isMasked)
    return isMasked
  }
  return masksInto({ ...masks, isMaskedName }, 'payload')
}

/** The masks at a JSON Pointer into the payload. A number may be an entry as well as a name, so it counts as both. */
export function masksAt(masks: Masks, pointer: string): Masks | undefined {
  return stepsOf(pointer).reduce(
    (inside: Masks | undefined, step) => masksInto(inside, /^(\d+|-)$/.test(step) ? Number(step) : step),
    masksOfPayload(masks),
  )
}

export function stepsOf(pointer: string): readonly string[] {
  const steps = pointer.split('/').slice(1)
  return steps.map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The texts and numbers of a payload that its masks hide by their place, as texts. */
export function hiddenInPayload(payload: unknown, masks: Masks): readonly string[] {
  return hiddenIn(payload, masksOfPayload(masks))
}

/** What a patch writes to places that are masked. */
export function hiddenInPatch(patch: readonly PatchOperation[] | undefined, masks: Masks): readonly string[] {
  return (patch ?? []).flatMap(({ path, value }) => hiddenIn(value, masksAt(masks, path)))
}

function hiddenIn(value: unknown, masks: Masks | undefined, depth = 0): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number')
    return masks === undefined && value !== '' ? [String(value)] : []
  if (typeof value !== 'object' || value === null || isBytes(value) || depth > DISPLAY_MAX_DEPTH) return []
  if (Array.isArray(value))
    return value.flatMap((each, index) => hiddenIn(each, masksInto(masks, index), depth + 1))
  return Object.entries(value).flatMap(([name, each]) => hiddenIn(each, masksInto(masks, name), depth + 1))
}

/** A message as it may be shown: a schema may say what it was given, and it was given what is hidden. */
export function hideIn(text: string, hidden: readonly string[], masks: Masks): string {
  const told = hidden.flatMap(asTold).filter(each => text.includes(each))
  // The longest first: one may be a part of another.
  const ordered = [...new Set(told)].sort((a, b) => b.length - a.length)
  return masks.maskText(ordered.reduce(withoutOne, text)).replaceAll(STAND_IN, MASK)
}

/** As it is, and as it is between the quotes of JSON. */
function asTold(text: string): readonly string[] {
  return [text, JSON.stringify(text).slice(1, -1)]
}

function withoutOne(text: string, hidden: string): string {
  if (hidden.length >= HIDDEN_ANYWHERE) return text.replaceAll(hidden, STAND_IN)
  const literal = hidden.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu'), STAND_IN)
}
