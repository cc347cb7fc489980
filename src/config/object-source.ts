import { isPlain } from '../core/options/merge.ts'
import { type Env, substitute } from './substitute.ts'
import { type ConfigSource, type LocatedFault, SYNTAX_HELP } from './yaml-source.ts'

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
    const { text: filled, isFromEnvironment, missing, isMalformed } = substitute(text, env)
    const place = { line: undefined, path: path.join('.') }
    for (const name of missing)
      faults.push({
        ...place,
        received: `\${${name}}, a variable that is not set`,
        remedy: `set it, or write \${${name}:-default}`,
      })
    if (isMalformed && missing.length === 0)
      faults.push({ ...place, received: "a '${' without a variable name", remedy: SYNTAX_HELP })
    if (isMalformed || missing.length > 0) origins.set(keyOf(path), 'missing')
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
