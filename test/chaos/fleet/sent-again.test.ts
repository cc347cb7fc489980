import { expect, it } from 'vitest'
import type { JournalEntry } from '../../fleet/shop/journal.ts'
import { describeSentAgain, findSentAgain, type SendEvidence } from './sent-again.ts'

const entry = (at: number, pid: number, what: JournalEntry['what'], kind: JournalEntry['kind'] = 'events') =>
  ({ at, pid, what, kind, letter: what === 'reported' ? `process-${pid}` : 'letter-1 1' }) as const

/** Process 1 sends at 10 000, process 2 at 20 000. Both report every second, process 1 not in the given time. */
function evidenceOf(silence: readonly [number, number], more: Partial<SendEvidence> = {}): SendEvidence {
  const reports = Array.from({ length: 25 }, (_, second) => second * 1_000)
  const isSilent = (at: number) => at > silence[0] && at < silence[1]
  return {
    journal: [
      ...reports.filter(at => !isSilent(at)).map(at => entry(at, 1, 'reported')),
      ...reports.map(at => entry(at, 2, 'reported')),
      ...[entry(10_000, 1, 'sending'), entry(10_010, 1, 'recorded'), entry(20_000, 2, 'sending')],
    ].sort((a, b) => a.at - b.at),
    ...{ lives: [], restarts: [], leaseMs: 3_000, ...more },
  }
}

const reasons = (evidence: SendEvidence) => findSentAgain(evidence).map(({ why }) => why)

it('B18: a letter that was sent twice by living processes that report themselves is a fault', () => {
  expect(reasons(evidenceOf([0, 0]))).toEqual(['fault'])
  // The silence was over before it sent.
  expect(reasons(evidenceOf([2_000, 8_000]))).toEqual(['fault'])
})

it('B18: it is a stall if the first sender was silent while it sent, and a crash if it was killed', () => {
  expect(reasons(evidenceOf([10_000, 19_000]))).toEqual(['stall'])
  expect(reasons(evidenceOf([8_000, 12_000]))).toEqual(['stall'])
  const lives = [{ pid: 1, kind: 'events', killedAt: 10_500 } as const]
  expect(reasons(evidenceOf([0, 0], { lives }))).toEqual(['crash'])
  expect(reasons(evidenceOf([0, 0], { restarts: [12_000, 13_000] }))).toEqual(['crash'])
})

it('B18: an order that was recorded must not be sent again, whatever happens', () => {
  const { journal, ...rest } = evidenceOf([10_000, 19_000], { restarts: [12_000] })
  const orders = journal.map(each => ({ ...each, kind: 'orders' as const }))
  expect(reasons({ ...rest, journal: orders })).toEqual(['fault'])
})

it('B18: the evidence has who sent when, who was silent, and what the campaign did', () => {
  const evidence = evidenceOf([10_000, 19_000], { lives: [{ pid: 2, kind: 'events', killedAt: 21_000 }] })
  expect(findSentAgain(evidence).flatMap(found => describeSentAgain(found, evidence))).toEqual([
    'letter letter-1 1 was sent again (stall):',
    '  0 ms process 1: sending',
    '  0 ms process 1: last report for 9000 ms',
    '  10 ms process 1: recorded',
    '  10000 ms process 2: sending',
    '  11000 ms events 2: killed',
  ])
})
