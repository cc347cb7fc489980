import type { LazaretEvent } from '../event/event.ts'
import { type MovedValue, movedValues } from '../event/moved-values.ts'
import { maskForDisplay } from './mask.ts'
import type { MaskPath } from './mask-path.ts'
import type { Masks } from './masks.ts'
import { masksAt, stepsOf } from './masks-at.ts'

/**
 * The masks for an event that a replay sent with a patch. A value that the masks hide where it was stays hidden where the patch
 * has put it, so that nobody can move a value into view.
 */
export function masksOfMoved<M extends Masks>(
  { headers, payload }: Pick<LazaretEvent, 'headers' | 'payload'>,
  masks: M,
): M {
  const moved = masks.hidesNothing === true ? [] : movedValues(headers)
  if (moved.length === 0) return masks
  const hidden = moved.filter(each => isHiddenBefore(each, payload, masks))
  return {
    ...masks,
    isMaskedName: name => masks.isMaskedName(name),
    maskText: text => masks.maskText(text),
    paths: [...masks.paths, ...hidden.map(({ path }) => pathTo(path))],
  }
}

function isHiddenBefore({ path, from }: MovedValue, payload: unknown, masks: Masks): boolean {
  const before = from === undefined ? undefined : masksAt(masks, from)
  const now = masksAt(masks, path)
  if (before === undefined || now === undefined) return true
  const value = valueAt(payload, path)
  // The path of an array stands for its entries, each of which may be the moved value.
  const all = Array.isArray(value) ? [value, ...value] : [value]
  return all.some(
    each => JSON.stringify(maskForDisplay(each, before)) !== JSON.stringify(maskForDisplay(each, now)),
  )
}

function valueAt(payload: unknown, pointer: string): unknown {
  let value = payload
  for (const step of stepsOf(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}

function pathTo(pointer: string): MaskPath {
  const names = ['payload', ...stepsOf(pointer)]
  return names.reduceRight<MaskPath | undefined>(
    (rest, name) => ({ segment: { kind: 'name', name }, rest }),
    undefined,
  )!
}
