import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { type Finding, findings, RULES } from './support/plain-english.ts'

// A search that reads the glossary wrongly finds nothing to complain about, so the test expects a number of rules first.
const FEWEST_RULES = 50
const TIME_TO_READ_ALL_MS = 120_000

/** The findings that are still allowed, by rule and room. A number may only fall. */
const allowed: Record<string, Record<string, number>> = JSON.parse(
  readFileSync(new URL('plain-english.baseline.json', import.meta.url), 'utf8'),
)

it(
  'comments, messages, test titles and pages use the words of the glossary and plain sentences',
  () => {
    expect(RULES.length).toBeGreaterThan(FEWEST_RULES)
    const byPlace = Map.groupBy(findings(), finding => `${finding.rule.name} ${roomOf(finding)}`)
    const tooMany = [...byPlace.values()].filter(
      ([first, ...others]) => 1 + others.length > (allowed[first!.rule.name]?.[roomOf(first!)] ?? 0),
    )
    expect(tooMany.flat().map(told)).toEqual([])
  },
  TIME_TO_READ_ALL_MS,
)

function told({ rule, path, line, words }: Finding): string {
  return `${path}:${line} "${words}": ${rule.advice}`
}

function roomOf({ path }: Finding): string {
  const [first = '', second = ''] = path.split('/')
  return first === 'src' || first === 'test' ? `${first}/${second}` : first
}
