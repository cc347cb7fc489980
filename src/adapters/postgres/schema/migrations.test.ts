import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { MIGRATIONS } from './migrations.ts'

/** One line for each version. A line is added with a new version, and never changed after its release. */
const RELEASED = [
  '1 20e634eead3f6b3b',
  '2 a72c1f3d72eb69f6',
  '3 51c9feea5c0c423b',
  '4 76a140ea5ed84142',
  '5 c9b615f9bd4947d4',
  '6 a72c6177e728b97c',
  '7 b225a88a2aa0fa1b',
  '8 8693fb616896bad8',
  '9 ab8c2f099ec8b560',
  '10 669a1596804401a7',
  '11 cdc5c4e7d80cdc52',
  '12 57ed807e266c8a1b',
  '13 d10fba52af694fba',
]

it('S1: the SQL of a released migration stays the same, byte for byte', () => {
  const hashes = MIGRATIONS.map(({ version, sql }) => `${version} ${hashOf(sql)}`)
  expect(hashes).toEqual(RELEASED)
})

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
