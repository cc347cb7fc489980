import { group, type Relations, type Rules } from './resolve.ts'
import type { Rule } from './rules.ts'

/**
 * The options of a component that a config file can set: those whose rules accept data, except `onlyInCode`. A new option
 * needs nothing more than its rule to be read from files and to appear in their JSON Schema. The form keeps the names of the
 * other options, so that a file that sets one of them gets a precise answer.
 */
export function fileOptions<R extends Rules>(
  rules: R,
  onlyInCode: readonly (keyof R & string)[],
  relations?: Relations<R>,
): Rule<unknown> {
  const names = Object.keys(rules)
  const isData = (name: string) => rules[name]!.form !== undefined && !onlyInCode.includes(name)
  const data = Object.fromEntries(names.filter(isData).map(name => [name, rules[name]!])) as unknown as R
  const fields = names.map(name => [name, isData(name) ? rules[name]! : { read: rules[name]!.read }] as const)
  return { form: { kind: 'fields', fields: Object.fromEntries(fields) }, read: group(data, relations).read }
}
