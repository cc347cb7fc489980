import type { Missing } from '../services/debian.ts'

/** What the command line can choose. */
export const GROUPS = [
  'rabbitmq',
  'redis',
  'postgres',
  'nats',
  'kafka',
  'receivers',
  'node',
  'browsers',
] as const
export type Group = (typeof GROUPS)[number]

/** One server, runtime or browser, and the test files that run on it. */
export interface Cell {
  readonly name: string
  readonly group: Group
  readonly title: string
  /** Where its programs come from. */
  readonly source: string
  /** Patterns of test files. */
  readonly suites: readonly string[]
  /** Tests of these files that cannot pass here, whatever the product does. */
  readonly leftOut?: LeftOut
  prepare(): Promise<PreparedCell | Missing>
}

export interface LeftOut {
  /** How their names begin, behind those of their groups. */
  readonly tests: readonly string[]
  readonly because: string
}

/** The option of vitest that runs all others. */
export function namePatternWithout({ tests }: LeftOut): string {
  return `^(?!.*(?:${tests.map(name => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')}))`
}

export interface PreparedCell {
  readonly found: true
  /** What the program says of itself. */
  readonly version: string
  /** For the tests: which programs or servers they use. */
  readonly env: NodeJS.ProcessEnv
  /** The Node that runs the tests, unless it is the one of the repository. */
  readonly node?: string
  /** Ends the servers that the cell started. */
  close?(): Promise<void>
}

/** The cells of these groups or names, in the order of the table; all without words. */
export function chooseCells(cells: readonly Cell[], words: readonly string[]): readonly Cell[] {
  const isChosen = ({ name, group }: Cell, word: string) => word === name || word === group
  const unknown = words.filter(word => !cells.some(cell => isChosen(cell, word)))
  if (unknown.length > 0) {
    const names = cells.map(({ name }) => name).join(', ')
    throw new Error(
      `no cell or group is called ${unknown.join(', ')}; groups: ${GROUPS.join(', ')}; cells: ${names}`,
    )
  }
  return words.length === 0 ? cells : cells.filter(cell => words.some(word => isChosen(cell, word)))
}
