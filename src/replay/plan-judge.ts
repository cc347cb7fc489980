import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { GateCheck } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { AnswerLimit } from '../runtime/answer-limit.ts'
import { FleetSchemas, MAX_QUESTION_LETTERS, type SchemaAnswer } from './fleet-schemas.ts'
import type { GateVerdict } from './gates.ts'
import { askDownstream, type Examined, examine, type JudgedOptions, type Receiver, refused } from './judge.ts'
import { PlanChecks } from './plan-checks.ts'
import type { DownstreamAnswer, ReplayEnvironment } from './target.ts'

/** The most letters that are judged at once. */
export const MAX_JUDGED = MAX_QUESTION_LETTERS

/** What is known of a letter before living consumers are asked. It does not hold the letter, which may be of a megabyte. */
export interface Judged extends Examined {
  readonly letterId: string
}

/**
 * Decides on the letters of one plan, and remembers whose word it is. Where this process has no schema for a letter, living
 * consumers are asked, for many letters at a time.
 */
export class PlanJudge {
  readonly #asked: JudgedOptions & { readonly requireSchema?: boolean | undefined }
  readonly #environment: ReplayEnvironment
  readonly #now: number
  readonly #answers: AnswerLimit
  readonly #schemas: FleetSchemas
  readonly #checks = new PlanChecks()
  /** What is known of each channel and sink. A plan shows one moment, so it asks once. */
  readonly #downstream = new Map<string, Promise<DownstreamAnswer>>()

  constructor(
    store: Pick<Store, 'fleet' | 'commands'>,
    asked: JudgedOptions & { readonly requireSchema?: boolean | undefined; readonly by: string },
    environment: ReplayEnvironment,
    now: number,
    signal?: AbortSignal,
  ) {
    this.#asked = asked
    this.#environment = environment
    this.#now = now
    this.#answers = new AnswerLimit(environment.clock)
    this.#schemas = new FleetSchemas(store, environment, asked.by, signal)
  }

  /** The decisions on at most `MAX_JUDGED` letters, in their order. */
  async judge(letters: readonly DeadLetter[]): Promise<readonly GateVerdict[]> {
    const judged: Judged[] = []
    for (const letter of letters) judged.push(await this.examine(letter))
    return this.decide(judged)
  }

  /** What this process says of a letter. */
  async examine(letter: DeadLetter): Promise<Judged> {
    return { letterId: letter.id, ...(await this.#examine(letter)) }
  }

  /** The decisions on at most `MAX_JUDGED` examined letters, in their order. */
  async decide(judged: readonly Judged[]): Promise<readonly GateVerdict[]> {
    const unknown = judged.filter(
      ({ schema, receiver }) => schema === 'unknown' && receiver.sink === undefined,
    )
    const refusals = new Map<string, string>()
    for (const part of Map.groupBy(unknown, ({ receiver }) => JSON.stringify(receiver)).values())
      for (const [id, reason] of await this.#askFleet(part)) refusals.set(id, reason)
    return judged.map(each => this.#verdict(each, refusals.get(each.letterId)))
  }

  /** Whose word the gates have so far. */
  checks(): readonly GateCheck[] {
    return this.#checks.all()
  }

  #examine(letter: DeadLetter): Promise<Examined> {
    return examine(letter, this.#asked, this.#environment, this.#now, this.#answers, receiver =>
      this.#askDownstream(receiver),
    )
  }

  #askDownstream(receiver: Receiver): Promise<DownstreamAnswer> {
    const key = JSON.stringify([receiver.channel, receiver.sink])
    const known = this.#downstream.get(key) ?? askDownstream(receiver, this.#environment, this.#answers)
    this.#downstream.set(key, known)
    return known
  }

  /** The reasons of the letters that must not be sent, by id. The letters have one receiver. */
  async #askFleet(part: readonly Judged[]): Promise<ReadonlyMap<string, string>> {
    const [{ receiver }] = part as readonly [Judged]
    const { channel, handler } = receiver
    const ids = part.map(({ letterId }) => letterId)
    const answers = await this.#schemas.ask(channel, handler, ids, this.#asked.patch)
    const reasons = new Map<string, string>()
    for (const answered of answers)
      for (const id of ids) {
        this.#checks.add({ gate: 'schema', channel, handler: answered.handler, answer: answered.answer })
        const reason = this.#reasonOf(answered, id)
        if (reason !== undefined && !reasons.has(id)) reasons.set(id, reason)
      }
    return reasons
  }

  /** A letter that nobody has checked is sent, unless the person demands a check: its consumer checks it again. */
  #reasonOf({ answer, verdicts }: SchemaAnswer, id: string): string | undefined {
    if (answer.answeredBy === 'nobody')
      return this.#asked.requireSchema ? `unknown: ${answer.reason}` : undefined
    const { validity, reason } = verdicts.get(id) ?? { validity: 'unknown' }
    return validity === 'valid' ? undefined : (reason ?? `unknown: its consumer did not say`)
  }

  #verdict({ verdict, receiver, schema, downstream }: Judged, refusal: string | undefined): GateVerdict {
    const { channel, handler, sink } = receiver
    if (schema === 'checked')
      this.#checks.add({
        ...{ gate: 'schema', channel, handler, sink },
        answer: { answeredBy: 'planner', saidAt: this.#now },
      })
    if (refusal !== undefined) return refused(refusal)
    if (verdict.decision === 'replay' || verdict.decision === 'skip_downstream')
      this.#checks.add({ gate: 'downstream', channel, sink, answer: downstream.answer })
    return verdict
  }
}
