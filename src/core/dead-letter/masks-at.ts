import { startCursors, stepInto } from './mask-path.ts'
import type { Masks } from './masks.ts'

/** The masks inside a property or array entry; undefined if all of it is masked. */
export function masksInto(masks: Masks | undefined, step: string | number): Masks | undefined {
  if (masks === undefined || masks.isMaskedName(String(step))) return undefined
  const { open, arrived } = stepInto(startCursors(masks.paths), step)
  return arrived ? undefined : { ...masks, paths: open }
}

export function masksOfPayload(masks: Masks): Masks | undefined {
  return masksInto(masks, 'payload')
}

/** The masks at a JSON Pointer into the payload. A number may be an index or a name, so it counts as both. */
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
