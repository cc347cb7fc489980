import { custom, type Rule, withDefault } from '../options/rules.ts'

export const DEFAULT_PREFIX = 'lazaret_'

const PREFIX = /^(?:[A-Za-z_]\w{0,99})?$/

/** What stands before every name. Colons are left to recording rules. */
export const prefixRule: Rule<string> = withDefault(
  custom(isPrefix, "give letters, digits and '_', beginning with a letter or '_', such as 'shop_'", {
    kind: 'text',
    pattern: PREFIX,
  }),
  DEFAULT_PREFIX,
)

function isPrefix(value: unknown): value is string {
  return typeof value === 'string' && PREFIX.test(value)
}
