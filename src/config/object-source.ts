import { isPlain } from '../core/options/merge.ts'
import { type Env, substitute } from './substitute.ts'
import type { ConfigSource, LocatedFault } from './yaml-source.ts'

/** An object in place of a file: the same variables are substituted in its texts, and no part of it has a line. */
export function readObject(value: unknown, env: Env): ConfigSource {
  const faults: LocatedFault[] = []
  const origins = new Map<string, 'environment' | 'missing'>()

  const fill = (each: unknown, path: readonly string[]): unknown => {
    if (typeof each === 'string') return fillText(each, path)
    if (Array.isArray(each)) return each.map((item, index) => fill(item, [...path, String(index)]))
    if (!isPlain(each)) return each
    return Object.fromEntries(
      Object.entries(each).map(([name, inner]) => [name, fill(inner, [...path, name])]),
    )
  }
  const fillText = (text: string, path: readonly string[]): string => {
    const { text: filled, isFromEnvironment, problems } = substitute(text, env)
    for (const { variable, received, remedy } of problems)
      faults.push({
        line: undefined,
        path: path.join('.'),
        received: variable === undefined ? received : `${variable}, ${received}`,
        remedy,
      })
    if (problems.length > 0) origins.set(keyOf(path), 'missing')
    else if (isFromEnvironment) origins.set(keyOf(path), 'environment')
    return filled
  }

  return {
    faults,
    value: fill(value, []),
    lineOf: () => undefined,
    originOf: path => {
      const below = [...origins].filter(([key]) => `${key}\n`.startsWith(`${keyOf(path)}\n`))
      if (below.some(([, origin]) => origin === 'missing')) return 'missing'
      return below.length > 0 ? 'environment' : 'file'
    },
  }
}

function keyOf(path: readonly string[]): string {
  return path.join('\n')
}
