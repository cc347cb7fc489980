import { describe, expect, it } from 'vitest'
import { FleetMember } from './member.ts'
import { ANSWER_TIMEOUT_MS } from './policy.ts'

function takeAll(member: FleetMember, now: number): number {
  let taken = 0
  while (member.take(now) !== undefined) taken++
  return taken
}

describe('a member of a fleet', () => {
  it('E4: what it gave itself while it waited is not used on top of the answer', () => {
    const member = new FleetMember({
      perSecond: 100,
      burst: 1,
      kind: 'queue',
      maxWaitMs: undefined,
      assumedMembers: 1,
    })
    member.advance(0, 1_000)
    const asked = member.toAsk(0, 1_000)!
    member.advance(ANSWER_TIMEOUT_MS, 1_000)
    expect(member.isAlone).toBe(true)
    const ownTurns = takeAll(member, ANSWER_TIMEOUT_MS)
    expect(ownTurns).toBeGreaterThan(0)
    const answer = { granted: ownTurns + 5, firstInMs: 0, aheadMs: 300, settlesInMs: 0, members: 1 }
    member.answered(asked, answer, ANSWER_TIMEOUT_MS + 10)
    expect(member.isAlone).toBe(false)
    expect(takeAll(member, ANSWER_TIMEOUT_MS + 10)).toBe(5)
  })
})
