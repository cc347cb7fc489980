import type { AnsweringProcess, GateAnswer, GateCheck } from '../ports/replays.ts'

/** A plan names this many of the processes that answered. */
const NAMED_PROCESSES = 10

interface Tally extends Omit<GateCheck, 'letters' | 'answer'> {
  letters: number
  answer: GateAnswer
  readonly processes: Map<string, AnsweringProcess>
}

/** Counts whose word the gates of a plan have. Answers of several processes for one consumer are one entry. */
export class PlanChecks {
  readonly #tallies = new Map<string, Tally>()

  add({ answer, ...check }: Omit<GateCheck, 'letters'>): void {
    const { gate, channel, handler, sink } = check
    const why = answer.answeredBy === 'nobody' ? answer.reason : undefined
    const key = JSON.stringify([gate, channel, handler, sink, answer.answeredBy, why])
    let tally = this.#tallies.get(key)
    if (tally === undefined) {
      tally = { ...check, letters: 0, answer, processes: new Map() }
      this.#tallies.set(key, tally)
    }
    tally.letters++
    tally.answer = olderOf(tally.answer, answer)
    if (answer.answeredBy === 'fleet') for (const each of answer.processes) tally.processes.set(each.id, each)
  }

  all(): readonly GateCheck[] {
    return [...this.#tallies.values()].map(({ processes, answer, ...check }) => ({
      ...check,
      answer:
        answer.answeredBy === 'fleet'
          ? { ...answer, count: processes.size, processes: [...processes.values()].slice(0, NAMED_PROCESSES) }
          : answer,
    }))
  }
}

function olderOf(one: GateAnswer, other: GateAnswer): GateAnswer {
  return 'saidAt' in one && 'saidAt' in other && other.saidAt < one.saidAt ? other : one
}
