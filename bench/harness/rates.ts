import { Meter } from './meter.ts'
import type { Bar, Row } from './result.ts'
import { ratioBar, rowsOf, takeTurns } from './rounds.ts'

/** How many messages a candidate gets, and what counts those that it handles. */
export interface Round {
  readonly messages: number
  readonly meter: Meter
}

/** Candidates that do the same, and what is expected of ours. */
export interface RateMeasure<C> {
  readonly candidates: Readonly<Record<string, C>>
  /** Of the messages, which is enough for a rate. */
  readonly share: number
  readonly peer: string
  readonly least: number
  /** How often the meter counts a message; 0 if the candidates measure by themselves. */
  readonly ticks: number
}

/** Some of the measures: LAZARET_BENCH_ONLY=consume,poisoned npm run bench kafka. */
const ONLY = process.env['LAZARET_BENCH_ONLY']?.split(',')

export function isWanted(title: string): boolean {
  return ONLY === undefined || ONLY.some(start => title.startsWith(start))
}

/** Measures all that is wanted, with the rate and the CPU time of the client. `messages` of a round are a multiple of `batch`. */
export async function measureRates<C>(
  measures: Readonly<Record<string, RateMeasure<C>>>,
  size: { readonly messages: number; readonly batch: number },
  run: (candidate: C, round: Round) => Promise<number>,
): Promise<{ readonly rows: Row[]; readonly bars: Bar[] }> {
  const rows: Row[] = []
  const bars: Bar[] = []
  for (const [title, { candidates, share, peer, least, ticks }] of Object.entries(measures)) {
    if (!isWanted(title)) continue
    const cpu: Record<string, number[]> = {}
    const samples = await takeTurns(title, candidates, async (candidate, part, name) => {
      const messages = Math.ceil((size.messages * share * part) / size.batch) * size.batch
      const meter = new Meter(messages * ticks)
      const rate = await run(candidate, { messages, meter })
      if (part === 1 && ticks > 0) cpu[name] = [...(cpu[name] ?? []), ticks * meter.cpuMicroseconds]
      return rate
    })
    rows.push(...rowsOf(title, 'messages/s', samples))
    bars.push(ratioBar(title, samples, 'lazaret', peer, least))
    if (ticks === 0) continue
    const cpuTitle = `${title}, CPU time of the client`
    rows.push(...rowsOf(cpuTitle, 'µs/message', cpu))
    bars.push(ratioBar(cpuTitle, cpu, peer, 'lazaret', least))
  }
  return { rows, bars }
}
