import type { Fault, Faults } from '../core/options/faults.ts'
import type { ConfigSource, LocatedFault } from './yaml-source.ts'

const SECRET_PATHS =
  /^(?:sealing\.keys|server\.tokens)(?:[.[]|$)|^brokers\.[^.]*\.url$|^collectors\.[^.]*\.(?:url|management)$|^notify\.targets\.[^.]*\.(?:url|routingKey|secret|dsn)$/

/** Adds the line of a file to a fault, and hides what may be secret. Undefined if the fault is reported already. */
export function locateFault(
  { received, remedy }: Pick<Fault, 'received' | 'remedy'>,
  path: string,
  steps: readonly string[],
  source: ConfigSource,
): LocatedFault | undefined {
  const origin = source.originOf(steps)
  // The missing variable is reported already.
  if (origin === 'missing') return undefined
  // A value from the environment may be a secret that landed in the wrong place.
  const isHidden = origin === 'environment' || SECRET_PATHS.test(path)
  const variable = source.variableOf?.(steps)
  if (variable !== undefined) return { line: undefined, path: variable, received: 'a hidden value', remedy }
  return { line: source.lineOf(steps), path, received: isHidden ? 'a hidden value' : received, remedy }
}

/** The same for faults whose paths begin with `subject`. */
export function locate(faults: Faults, subject: string, source: ConfigSource): readonly LocatedFault[] {
  return faults.list.flatMap(fault => {
    const place = fault.path.slice(subject.length).replace(/^\./, '')
    return locateFault(fault, place === '' ? 'the file' : place, stepsOf(place), source) ?? []
  })
}

/** In the order of the file, each fault once. */
export function inOrder(faults: readonly LocatedFault[]): readonly LocatedFault[] {
  const known = new Map(faults.map(fault => [`${fault.line} ${fault.path} ${fault.remedy}`, fault]))
  return [...known.values()].sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
}

/** `masks.paths[2]` is masks, paths, 2. */
function stepsOf(path: string): readonly string[] {
  return [...path.matchAll(/[^.[\]]+/g)].map(([step]) => step)
}
