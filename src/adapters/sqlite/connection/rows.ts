import type { SQLInputValue, StatementSync } from 'node:sqlite'

/** Every row of an answer. The tables say what a row looks like; nobody checks it again. */
export function all<Row>(statement: StatementSync, ...args: readonly SQLInputValue[]): Row[] {
  return statement.all(...args) as Row[]
}
