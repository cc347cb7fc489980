import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'
import { type LockedPackages, licenceFaults } from './licences.ts'

const { packages }: { packages: LockedPackages } = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
)

describe('the dependencies', () => {
  it('have licences that allow what users and developers do with them', () => {
    expect(Object.keys(packages).length).toBeGreaterThan(300)
    expect(licenceFaults(packages, [])).toEqual([])
  })

  it('of users are few, and bring none of their own', () => {
    const forUsers = Object.entries(packages).filter(([path, { dev, peer }]) => path !== '' && !dev && !peer)
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const names = forUsers.map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(names.sort()).toEqual(Object.keys(dependencies).sort())
  })

  it.each([
    ['a copyleft licence for users', { license: 'GPL-3.0-only' }, [], 1],
    ['a weak copyleft licence for users', { license: 'MPL-2.0' }, [], 1],
    ['no licence', {}, [], 1],
    ['a copyleft licence for developers', { license: 'AGPL-3.0-only', dev: true }, [], 1],
    ['a tool with a weak copyleft licence', { license: 'MPL-2.0', dev: true }, [], 0],
    ['the same tool, bundled into the package', { license: 'MPL-2.0', dev: true }, ['one'], 1],
    ['a choice', { license: '(GPL-2.0-only OR MIT)' }, [], 0],
    ['two at once', { license: 'MIT AND GPL-2.0-only' }, [], 1],
  ])('%s', (_title, entry, bundled, faults) => {
    expect(licenceFaults({ '': {}, 'node_modules/one': entry }, bundled)).toHaveLength(faults)
  })
})
