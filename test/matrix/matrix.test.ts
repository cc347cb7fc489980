import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'
import { type Cell, chooseCells, namePatternWithout } from './cell.ts'
import { CELLS } from './cells.ts'
import { writePage } from './page.ts'
import { countTests } from './result.ts'

const cell = (name: string, group: Cell['group']): Cell => ({
  name,
  group,
  title: name.toUpperCase(),
  source: 'Debian 12',
  suites: [],
  prepare: async () => ({ found: false, why: 'a test prepares nothing' }),
})
const cells = [cell('redis-7', 'redis'), cell('redis-8', 'redis'), cell('nats-2.9', 'nats')]
const namesOf = (chosen: readonly Cell[]) => chosen.map(({ name }) => name)

it('the matrix runs every cell, or those of the groups and names that were given', () => {
  expect(namesOf(chooseCells(cells, []))).toEqual(['redis-7', 'redis-8', 'nats-2.9'])
  expect(namesOf(chooseCells(cells, ['nats', 'redis']))).toEqual(['redis-7', 'redis-8', 'nats-2.9'])
  expect(namesOf(chooseCells(cells, ['redis-8']))).toEqual(['redis-8'])
})

it('the matrix refuses a word that chooses nothing', () => {
  expect(() => chooseCells(cells, ['redis', 'reddis'])).toThrow('no cell or group is called reddis')
})

it('the cells of the matrix have names of their own and test files', () => {
  expect(new Set(namesOf(CELLS)).size).toBe(CELLS.length)
  const patterns = new Set(CELLS.flatMap(({ suites }) => suites))
  expect([...patterns].filter(pattern => globSync(pattern, { cwd: ROOT }).length === 0)).toEqual([])
})

it('a cell counts its tests, and the skipped ones by their reason', () => {
  const test = (fullName: string, status: string) => ({ fullName, status, failureMessages: [] })
  const report = {
    numTotalTests: 6,
    testResults: [
      {
        name: join(ROOT, 'src/a.test.ts'),
        message: '',
        status: 'failed',
        assertionResults: [
          test('works', 'passed'),
          test('breaks', 'failed'),
          test('Redis (skipped: not ours) stops', 'skipped'),
          test('Redis (skipped: not ours) starts', 'pending'),
          test('is on another machine', 'skipped'),
        ],
      },
      { name: join(ROOT, 'src/b.test.ts'), message: 'no server', status: 'failed', assertionResults: [] },
    ],
  }
  expect(countTests(report)).toEqual({
    files: 2,
    passed: 1,
    failed: ['src/a.test.ts: breaks', 'src/b.test.ts: the file did not run'],
    skipped: [
      { why: 'not ours', tests: 2 },
      { why: 'the name of the test gives no reason', tests: 1 },
    ],
  })
})

it('a cell runs all tests but those that it leaves out, and counts those with their reason', () => {
  const leftOut = { tests: ['S5: a role (of psql)'], because: 'one role' }
  const pattern = new RegExp(namePatternWithout(leftOut))
  expect(
    ['outbox S5: a role (of psql) can', 'outbox S5: a role can'].map(name => pattern.test(name)),
  ).toEqual([false, true])
  const left = { fullName: 'outbox S5: a role (of psql) can', status: 'skipped', failureMessages: [] }
  const files = [
    { name: join(ROOT, 'src/a.test.ts'), message: '', status: 'passed', assertionResults: [left] },
  ]
  expect(countTests({ numTotalTests: 1, testResults: files }, leftOut).skipped).toEqual([
    { why: 'one role', tests: 1 },
  ])
})

it('the page has a row for each cell, and says what failed, was skipped or is not available', () => {
  const run = { date: '2026-01-02', version: '8.0.2', node: 'v24.1.0', seconds: 9, files: 3, passed: 7 }
  const page = writePage(cells, {
    'redis-7': { ...run, failed: ['a.test.ts: breaks <x>'], skipped: [{ why: 'not ours', tests: 2 }] },
    'redis-8': { date: '2026-01-02', missing: 'no such package' },
  })
  expect(page).toContain('| REDIS-7 | 8.0.2 | Debian 12 | 2026-01-02 | v24.1.0 | 3 | 7 | 1 | 2 |')
  expect(page).toContain('| REDIS-8 |  | Debian 12 | not available |')
  expect(page).toContain('| NATS-2.9 |  | Debian 12 | not yet |')
  expect(page).toContain('## Failed tests\n\n- REDIS-7: a.test.ts: breaks \\<x\\>\n')
  expect(page).toContain('## Skipped tests\n\n- REDIS-7: 2 tests, because: not ours\n')
  expect(page).toContain('## Not available\n\n- REDIS-8: no such package\n')
})

it('docs/compatibility.md is what the kept results say', () => {
  const results = JSON.parse(readFileSync(join(ROOT, 'test/matrix/results.json'), 'utf8'))
  expect(Object.keys(results).filter(name => !namesOf(CELLS).includes(name))).toEqual([])
  expect(readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8')).toBe(writePage(CELLS, results))
})
