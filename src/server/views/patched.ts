import { DISPLAY_MAX_DEPTH, maskForDisplay } from '../../core/dead-letter/mask.ts'
import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { masksInto, masksOfPayload, stepsOf } from '../../core/dead-letter/masks-at.ts'
import type { JsonValue } from '../../core/event/event.ts'
import { isBytes } from '../../core/event/plain.ts'
import type { PatchOperation } from '../../ports/replays.ts'
import { applyOperations, CopyLimit } from '../../runtime/json-patch.ts'
import type { Json } from '../schema/common.ts'

/** Replaces a masked value before the patch runs, so that the value stays masked wherever the patch moves it. */
const HIDDEN = `\0${MASK}`

/** A patch tests a masked value. Either answer would disclose the value. */
class MaskedTestError extends Error {
  override readonly name = 'MaskedTestError'

  constructor(index: number, path: string) {
    super(
      `patch operation ${index + 1} (test ${path}): a preview does not test masked values; remove the operation from the preview`,
    )
  }
}

/** The masked payload. */
export function payloadView(payload: unknown, masks: Masks): Json {
  return (maskForDisplay({ payload }, masks) as { readonly payload: Json }).payload
}

/**
 * The masked result of a patch. The patch runs on the payload without its masked values, so that it cannot move or copy
 * them into view. Returns undefined when the patch does not fit.
 */
export function patchedView(
  payload: unknown,
  patch: readonly PatchOperation[],
  masks: Masks,
): Json | undefined {
  let document = withoutMasked(payload, masksOfPayload(masks)) as JsonValue
  const copies = new CopyLimit()
  for (const [index, operation] of patch.entries()) {
    if (operation.op === 'test' && !isShownWhole(seenAt(document, operation.path), masks))
      throw new MaskedTestError(index, operation.path)
    try {
      document = applyOperations(document, asSeen(document, operation), copies)
    } catch {
      return undefined
    }
  }
  const maskText = (text: string) => (text === HIDDEN ? MASK : masks.maskText(text))
  return payloadView(document, { ...masks, maskText })
}

function withoutMasked(value: unknown, masks: Masks | undefined, depth = 0): unknown {
  if (value === null || value === undefined) return value
  if (masks === undefined || isBytes(value) || depth > DISPLAY_MAX_DEPTH) return HIDDEN
  if (typeof value !== 'object') return value
  const inside = (each: unknown, step: string | number) =>
    withoutMasked(each, masksInto(masks, step), depth + 1)
  return Array.isArray(value)
    ? value.map(inside)
    : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inside(each, name)]))
}

/** Adapts an operation to hidden values: inside a hidden value it has no visible effect. */
function asSeen(document: JsonValue, operation: PatchOperation): readonly PatchOperation[] {
  const { op, path, from } = operation
  const isInside = (pointer: string) =>
    pointer !== '' && seenAt(document, pointer.slice(0, pointer.lastIndexOf('/'))) === HIDDEN
  const isFromInside = from !== undefined && (op === 'copy' || op === 'move') && isInside(from)
  if (isInside(path))
    return op === 'move' && from !== undefined && !isFromInside ? [{ op: 'remove', path: from }] : []
  return isFromInside ? [{ op: 'add', path, value: HIDDEN }] : [operation]
}

/** The value at a pointer: hidden if a value on the path is hidden, undefined if the path does not exist. */
function seenAt(document: JsonValue, pointer: string): unknown {
  let value: unknown = document
  for (const step of stepsOf(pointer)) {
    if (value === HIDDEN) return HIDDEN
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}

function isShownWhole(value: unknown, masks: Masks, depth = 0): boolean {
  if (typeof value === 'string' || typeof value === 'number')
    return value !== HIDDEN && masks.maskText(String(value)) === String(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth > DISPLAY_MAX_DEPTH) return false
  return Object.entries(value).every(
    ([name, each]) => masks.maskText(name) === name && isShownWhole(each, masks, depth + 1),
  )
}
