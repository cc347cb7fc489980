import { type Classification, giveUp } from '../classification.ts'
import { isArray, property, type Thrown, textProperty } from '../thrown.ts'

const INVALID = giveUp('validation', 'schema')
const NOT_JSON = giveUp('json-syntax', 'schema')

/**
 * Errors of any Standard Schema library (zod, valibot, arktype …). They have `issues` with messages. ArkType's
 * TraversalError has the same list under another name.
 */
export function validation({ value }: Thrown): Classification | undefined {
  return isIssueList(property(value, 'issues')) || isIssueList(property(value, 'arkErrors'))
    ? INVALID
    : undefined
}

function isIssueList(issues: unknown): boolean {
  return isArray(issues) && textProperty(property(issues, 0), 'message') !== undefined
}

/** All engines mention JSON in the errors of `JSON.parse`. Other syntax errors are faults of code and not of data. */
export function jsonSyntax({ name, message }: Thrown): Classification | undefined {
  return name === 'SyntaxError' && message.includes('JSON') ? NOT_JSON : undefined
}
