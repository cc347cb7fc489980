import { expect, it } from 'vitest'
import { LeaseWitness } from './lease-witness.ts'

const LEASE_MS = 900

it('B8: who has kept its lease for as long as one lasts can tell that others are dead', () => {
  const steadiness = new LeaseWitness(LEASE_MS)
  expect(steadiness.canJudgeOthers(0)).toBe(false)
  for (const now of [0, 300, 610, 890]) {
    steadiness.renewed(now)
    expect(steadiness.canJudgeOthers(now)).toBe(false)
  }
  steadiness.renewed(1_200)
  expect(steadiness.canJudgeOthers(1_200)).toBe(true)
})

it.each([
  ['after it could not renew for so long that others may have lost theirs', 1_800],
  ['after its clock was set back', 600],
])('B8: %s it waits again', (_, next) => {
  const steadiness = new LeaseWitness(LEASE_MS)
  for (const now of [0, 300, 600, 900, 1_200]) steadiness.renewed(now)
  steadiness.renewed(next)
  expect(steadiness.canJudgeOthers(next)).toBe(false)
  for (let beat = 1; beat <= 3; beat++) steadiness.renewed(next + beat * 300)
  expect(steadiness.canJudgeOthers(next + 900)).toBe(true)
})
