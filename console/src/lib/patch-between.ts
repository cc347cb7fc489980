import type { Json, PatchOperation } from '../api/types.ts'

/**
 * The JSON Patch that turns one value into another. It names only what changed, so that a person who approves it sees
 * the edit and not the whole payload. Lists of different lengths are replaced as wholes.
 */
export function patchBetween(before: Json, after: Json, path = ''): readonly PatchOperation[] {
  if (isList(before) && isList(after) && before.length === after.length)
    return after.flatMap((value, index) => patchBetween(before[index]!, value, `${path}/${index}`))
  if (!isRecord(before) || !isRecord(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ op: 'replace', path, value: after }]
  const gone = Object.keys(before).filter(name => !Object.hasOwn(after, name))
  return [
    ...gone.map((name): PatchOperation => ({ op: 'remove', path: stepInto(path, name) })),
    ...Object.entries(after).flatMap(([name, value]): readonly PatchOperation[] =>
      Object.hasOwn(before, name)
        ? patchBetween(before[name]!, value, stepInto(path, name))
        : [{ op: 'add', path: stepInto(path, name), value }],
    ),
  ]
}

function stepInto(path: string, name: string): string {
  return `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function isRecord(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
