import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { Document, Node } from 'yaml'
import type { Fault } from '../core/options/faults.ts'
import { type Env, substitute } from './substitute.ts'

/** A fault and the line of the file it is on; undefined for a fault that is not in a file. */
export interface LocatedFault extends Fault {
  readonly line: number | undefined
}

/** A parsed YAML text, or an object, with substituted variables: its value, and the lines of its parts. */
export interface ConfigSource {
  /** Undefined when the text is not valid YAML. */
  readonly value: unknown
  readonly faults: readonly LocatedFault[]
  /** The line of a path, or of its nearest existing parent; undefined without a file. */
  lineOf(path: readonly string[]): number | undefined
  /** `environment`: a value at or below the path came from a variable. `missing`: the variable is not set. */
  originOf(path: readonly string[]): 'file' | 'environment' | 'missing'
  /** The variable that set the path in place of the file. */
  variableOf?(path: readonly string[]): string | undefined
}

/** A config needs no aliases. Many of them are an attack or a mistake. */
const MOST_ALIASES = 20

/** The package is loaded with the first file: `lazaret` exports `loadPolicies`, and most of its users never read YAML. */
function loadYaml(): typeof Yaml {
  return createRequire(import.meta.url)('yaml') as typeof Yaml
}

/** `reads` names the keys at the top of the file in which variables are substituted [all of them]. */
export function readYaml(text: string, env: Env, reads: (key: string) => boolean = () => true): ConfigSource {
  const { LineCounter, isScalar, parseDocument, visit } = loadYaml()
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const lineAt = (offset: number | undefined) => lines.linePos(offset ?? 0).line || 1
  const faults: LocatedFault[] = document.errors.map(({ pos, message }) => ({
    line: lineAt(pos[0]),
    path: 'yaml',
    received: 'invalid YAML',
    remedy: message.split('\n')[0]!,
  }))
  const origins = new Map<Node, 'environment' | 'missing'>()
  visit(document, {
    Pair(_, { key }, path) {
      return path.length === 2 && isScalar(key) && !reads(String(key.value)) ? visit.SKIP : undefined
    },
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string') return
      const { text: filled, isFromEnvironment, problems } = substitute(node.value, env)
      const line = lineAt(node.range?.[0])
      for (const { variable = 'yaml', received, remedy } of problems)
        faults.push({ line, path: variable, received, remedy })
      if (problems.length > 0) origins.set(node, 'missing')
      else if (isFromEnvironment) origins.set(node, 'environment')
      node.value = filled
    },
  })
  return {
    faults,
    value: document.errors.length === 0 ? toValue(document, faults) : undefined,
    lineOf: path => lineAt(find(document, path).offset),
    originOf: path => originBelow(find(document, path).node, origins),
  }
}

function originBelow(node: Node | undefined, origins: ReadonlyMap<Node, 'environment' | 'missing'>) {
  const { visit } = loadYaml()
  const found = new Set<'environment' | 'missing' | undefined>()
  if (node !== undefined) visit(node, { Scalar: (_, scalar) => void found.add(origins.get(scalar)) })
  return found.has('missing') ? 'missing' : found.has('environment') ? 'environment' : 'file'
}

function toValue(document: Document, faults: LocatedFault[]): unknown {
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES }) ?? {}
  } catch (error) {
    const received = 'unreadable YAML'
    faults.push({ line: 1, path: 'yaml', received, remedy: (error as Error).message.split('\n')[0]! })
    return undefined
  }
}

/** Follows a path as far as it exists. Returns the node and the offset of its key. */
function find(
  document: Document,
  path: readonly string[],
): { readonly node: Node | undefined; readonly offset: number | undefined } {
  const { isMap, isScalar, isSeq } = loadYaml()
  let node: unknown = document.contents
  let offset: number | undefined
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (pair === undefined) return { node: undefined, offset }
      offset = isScalar(pair.key) ? pair.key.range?.[0] : offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      offset = (node as Node | undefined)?.range?.[0] ?? offset
    } else return { node: undefined, offset }
  }
  return { node: (node ?? undefined) as Node | undefined, offset }
}
