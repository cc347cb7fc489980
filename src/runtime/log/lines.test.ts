import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../../../test/support/source.ts'
import type { LogLine } from './aggregator.ts'
import { AGGREGATED_LINES, BREAKER_LINES, LINES, PAUSE_LINES } from './lines.ts'

const page = readFileSync(join(ROOT, 'docs/reference/logs.md'), 'utf8')
const [ours] = page.split('## Lines of the server')
const rows = [...ours!.matchAll(/^\| `(?!what`)(\w+)` \| ([\w, ]+) \|/gm)].map(
  ([, what, levels]) => `${what} ${levels}`,
)

it('E20: the page of lines has every line there is, at its level, and no other', () => {
  const endings = Object.values(AGGREGATED_LINES).flatMap(line => ('ended' in line ? [line.ended] : []))
  const lines: LogLine[] = [BREAKER_LINES, PAUSE_LINES, LINES, AGGREGATED_LINES].flatMap(all =>
    Object.values(all),
  )
  const levels = new Map<string, Set<string>>()
  for (const { what, level } of [...lines, ...endings])
    levels.set(what, (levels.get(what) ?? new Set()).add(level))
  const actual = Array.from(levels, ([what, all]) => `${what} ${[...all].join(', ')}`)
  expect(rows.sort()).toEqual(actual.sort())
})
