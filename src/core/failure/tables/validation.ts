import { type Classification, giveUp } from '../classification.ts'
import { isArray, property, type Thrown, textProperty } from '../thrown.ts'

const INVALID = giveUp('validation', 'schema')
const NOT_JSON = giveUp('json-syntax', 'schema')

/**
 * The error of any Standard Schema library (zod, valibot, arktype …): it carries `issues`, each with a message.
 * ArkType's TraversalError carries the same list under a name of its own.
 */
export function validation({ value }: Thrown): Classification | undefined {
  return isIssueList(property(value, 'issues')) || isIssueList(property(value, 'arkErrors'))
    ? INVALID
    : undefined
}

function isIssueList(issues: unknown): boolean {
  return isArray(issues) && textProperty(property(issues, 0), 'message') !== undefined
}

/** All engines name JSON in the errors of `JSON.parse`; other syntax errors are faults of code, not of data. */
export function jsonSyntax({ name, message }: Thrown): Classification | undefined {
  return name === 'SyntaxError' && message.includes('JSON') ? NOT_JSON : undefined
}
