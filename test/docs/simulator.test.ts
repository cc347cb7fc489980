import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { CHECKERS } from '../../sim/checkers/all.ts'

const PAGE = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8')
/** The rows of each table that begins with this line. */
const rowsBelow = (header: string) =>
  PAGE.split(`${header}\n`)
    .slice(1)
    .flatMap(after => (after.split('\n\n')[0] ?? '').split('\n').slice(1))

it('docs/testing.md lists each checker of the simulator under the name that a violation prints', () => {
  const listed = rowsBelow('| checker | holds |').map(row => row.split('`')[1])
  expect(listed.toSorted()).toEqual(Object.keys(CHECKERS).toSorted())
})

it('docs/testing.md names only existing checkers where it says which one noticed a break', () => {
  const noticed = [
    '| broken so that | noticed by, at seed |',
    '| the code was such that | noticed by, at seed |',
  ]
    .flatMap(rowsBelow)
    .flatMap(row => [...(row.split('|')[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  expect(noticed.length).toBeGreaterThan(50)
  expect(noticed.filter(name => !Object.hasOwn(CHECKERS, name ?? ''))).toEqual([])
})
