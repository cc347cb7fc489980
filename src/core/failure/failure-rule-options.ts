import { group } from '../options/resolve.ts'
import { custom, flag, list, milliseconds, oneOf, optional, type Rule, text } from '../options/rules.ts'
import { CATEGORIES } from './classification.ts'
import { type FailureRule, isErrorClass } from './failure-rule.ts'

const rule = group(
  {
    when: custom(isWhen, 'give an error class, the name or code of an error, or a function that tests it', {
      kind: 'text',
    }),
    retryable: optional(flag()),
    category: optional(oneOf(...CATEGORIES)),
    retryAfterMs: optional(milliseconds()),
    fingerprint: optional(text({ maxLength: 200 })),
  },
  ({ retryable, category, retryAfterMs }, fault) => {
    if (retryable === undefined && category === undefined && retryAfterMs === undefined)
      fault('retryable', 'say what the errors mean: give retryable, category or retryAfterMs')
    if (retryable === false && retryAfterMs !== undefined)
      fault('retryAfterMs', 'leave it out, or make the errors retryable')
  },
)

/** Reads the rules of a handler or sink as part of its options. */
export const failureRules: Rule<readonly FailureRule[]> = list(rule, { maxItems: 100 })

function isWhen(value: unknown): value is FailureRule['when'] {
  if (typeof value === 'string') return value !== ''
  return typeof value === 'function' && (isErrorClass(value) || !isClass(value))
}

/** Calling a class as a function throws, and then the rule would be ignored without a report. */
function isClass(value: object): boolean {
  const prototype = Object.getOwnPropertyDescriptor(value, 'prototype')
  return prototype !== undefined && prototype.writable === false
}
