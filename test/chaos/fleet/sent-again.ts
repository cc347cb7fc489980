import type { JournalEntry } from '../../fleet/shop/journal.ts'
import type { Life } from './plan.ts'

/** What the processes wrote down, and what the campaign did to them. */
export interface SendEvidence {
  readonly journal: readonly JournalEntry[]
  readonly lives: readonly Life[]
  /** When Postgres was stopped, and when it was back. */
  readonly restarts: readonly number[]
  /** A process without a report for this long is gone for the others. */
  readonly leaseMs: number
}

/** A crash is noted before it is caused, and a process may work on for a moment. */
const CRASH_TAKES_MS = 1_000

/**
 * Why a letter was sent again:
 *
 * - `crash`: the sender, or the store, died between the sending and the record. A sink that ends loses the letters that it held.
 * - `stall`: the sender stood still after it had begun to send, for longer than its lease. For the others that is a crash.
 * - `fault`: neither. This must not happen.
 */
export interface SentAgain {
  readonly why: 'crash' | 'stall' | 'fault'
  readonly first: JournalEntry
  readonly second: JournalEntry
}

export function findSentAgain(evidence: SendEvidence): readonly SentAgain[] {
  return [...Map.groupBy(evidence.journal, ({ letter }) => letter).values()].flatMap(entries => {
    const sends = entries.filter(({ what }) => what === 'sending')
    return sends.slice(1).map((second, index): SentAgain => {
      const first = sends[index]!
      return { why: reasonOf(first, second, entries, evidence), first, second }
    })
  })
}

function reasonOf(
  first: JournalEntry,
  second: JournalEntry,
  entries: readonly JournalEntry[],
  evidence: SendEvidence,
): SentAgain['why'] {
  const { lives, restarts } = evidence
  const life = lives.find(({ pid }) => pid === first.pid)
  const within = (at: number | undefined) =>
    at !== undefined && at >= first.at - CRASH_TAKES_MS && at <= second.at
  const isRecorded = entries.some(
    ({ what, pid, at }) => what === 'recorded' && pid === first.pid && at >= first.at && at <= second.at,
  )
  // The broker has an order that was recorded.
  if (isRecorded && first.kind !== 'events') return 'fault'
  if (within(life?.killedAt) || restarts.some(within)) return 'crash'
  return silencesOf(first.pid, second.at, evidence).some(({ until }) => until >= first.at) ? 'stall' : 'fault'
}

/** The times for which a process did not report itself, if they were longer than its lease. */
function silencesOf(
  pid: number,
  before: number,
  { journal, leaseMs }: SendEvidence,
): readonly { readonly from: number; readonly until: number }[] {
  const times = journal
    .filter(entry => entry.what === 'reported' && entry.pid === pid && entry.at <= before)
    .map(({ at }) => at)
  return times
    .map((from, index) => ({ from, until: times[index + 1] ?? before }))
    .filter(({ from, until }) => until - from >= leaseMs)
}

/** Who sent when, who was silent, and what the campaign did meanwhile. Times in ms since the first send. */
export function describeSentAgain({ why, first, second }: SentAgain, evidence: SendEvidence): string[] {
  const { journal, lives, restarts } = evidence
  const pids = [first.pid, second.pid]
  const lines: { readonly at: number; readonly text: string }[] = []
  for (const { what, letter, at, pid } of journal)
    if (letter === first.letter) lines.push({ at, text: `process ${pid}: ${what}` })
  for (const { pid, kind, killedAt } of lives)
    if (killedAt !== undefined && (pids.includes(pid) || kind === 'server'))
      lines.push({ at: killedAt, text: `${kind} ${pid}: killed` })
  for (const at of restarts) lines.push({ at, text: 'Postgres: stopped, or back' })
  for (const pid of new Set(pids))
    for (const { from, until } of silencesOf(pid, second.at, evidence))
      lines.push({ at: from, text: `process ${pid}: last report for ${until - from} ms` })
  return [
    `letter ${first.letter} was sent again (${why}):`,
    ...lines
      .filter(({ at }) => at >= first.at - AROUND_MS && at <= second.at + AROUND_MS)
      .sort((a, b) => a.at - b.at)
      .map(({ at, text }) => `  ${at - first.at} ms ${text}`),
  ]
}

const AROUND_MS = 60_000
