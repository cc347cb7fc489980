import { Faults } from './faults.ts'
import { nearest } from './nearest.ts'
import type { Rule } from './rules.ts'

export type Rules = { readonly [name: string]: Rule<unknown> }

/** What options become once they are read: every default filled in, nothing left to check. */
export type Resolved<R extends Rules> = { readonly [K in keyof R]: R[K] extends Rule<infer T> ? T : never }

/** Checks between fields, such as "the cap is not below the base"; asked only when the fields themselves are right. */
export type Relations<R extends Rules> = (
  options: Resolved<R>,
  fault: (field: keyof R & string, remedy: string) => void,
) => void

/**
 * Reads options once: undefined is skipped, defaults are applied, fields and their relations are checked, every
 * fault is reported in one error, and the result is a new frozen object. The caller's object is never touched.
 */
export function resolveOptions<R extends Rules>(
  subject: string,
  rules: R,
  input: unknown,
  relations?: Relations<R>,
): Resolved<R> {
  return resolveBy(subject, group(rules, relations), input)
}

/** The same for options that one rule describes. */
export function resolveBy<T>(subject: string, rule: Rule<T>, input: unknown): T {
  const faults = new Faults()
  const resolved = rule.read(input, subject, faults)
  faults.throwIfAny(subject)
  return resolved
}

/** Options inside options: read by the same rules, reported in the same error. */
export function group<R extends Rules>(rules: R, relations?: Relations<R>): Rule<Resolved<R>> {
  return {
    form: { kind: 'fields', fields: rules },
    read(value, path, faults) {
      const given = value === undefined ? {} : value
      const before = faults.list.length
      if (!isPlainObject(given)) {
        faults.add(path, value, `give a plain object with ${Object.keys(rules).join(', ')}`)
        return Object.freeze({}) as Resolved<R>
      }
      reportUnknown(rules, given, path, faults)
      const resolved: Record<string, unknown> = {}
      for (const name of Object.keys(rules))
        resolved[name] = rules[name]!.read(given[name], `${path}.${name}`, faults)
      const options = Object.freeze(resolved) as Resolved<R>
      if (faults.list.length === before) {
        relations?.(options, (field, remedy) => faults.add(`${path}.${field}`, resolved[field], remedy))
      }
      return options
    },
  }
}

function reportUnknown(rules: Rules, given: Record<string, unknown>, path: string, faults: Faults): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(rules, name) || given[name] === undefined) continue
    const near = nearest(name, Object.keys(rules))
    const remedy = near
      ? `did you mean '${near}'?`
      : `remove it; known options are ${Object.keys(rules).join(', ')}`
    faults.add(`${path}.${name}`, given[name], `unknown option, ${remedy}`)
  }
}

/** A Map, or a Promise that was not awaited, has no fields of its own: read as options it would be all defaults. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
