import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/source.ts'

const RUNBOOKS = join(ROOT, 'docs/runbooks')

/** The commands of each page, in its order: those in blocks that are marked `sh` and nothing else. */
export const RUNBOOK_LINES: ReadonlyMap<string, readonly string[]> = new Map(
  readdirSync(RUNBOOKS).map(name => {
    const blocks = readFileSync(join(RUNBOOKS, name), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)
    return [name, [...blocks].flatMap(([, block]) => block!.split('\n').filter(line => line !== ''))] as const
  }),
)

type Variables = Readonly<Record<string, string>>

/** As a shell would: words, quotes, and variables of the pages where they are not in single quotes. */
export function wordsOf(line: string, variables: Variables): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? expand(plain!, variables),
  )
}

function expand(word: string, variables: Variables): string {
  return word.replace(/\$([A-Z_]+)/g, (_, name: string) => {
    const value = variables[name]
    if (value === undefined)
      throw new Error(`$${name} is not known: say in docs/runbooks/README.md what it is`)
    return value
  })
}
