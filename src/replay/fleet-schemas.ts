import { monotonicNow } from '../ports/clock.ts'
import type { CommandRecord } from '../ports/commands.ts'
import { describePart, hasPart, type Instance } from '../ports/fleet.ts'
import type { GateAnswer, Replay } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { type LetterValidity, MAX_TASK_LETTERS } from '../runtime/fleet/letter-tasks.ts'
import { sleep } from '../runtime/sleep.ts'
import { LivingProcesses } from './living-processes.ts'
import type { ReplayEnvironment } from './target.ts'

/** The most letters of one question. */
export const MAX_QUESTION_LETTERS = MAX_TASK_LETTERS
/** The time in which a process takes a question. A process that was not woken looks for commands with its reports. */
const CLAIM_MS = 7_000
/** The time to answer after that: a schema that does not settle holds up its process for 15 s. */
const ANSWER_MS = 18_000
const LOOK_EVERY_MS = 50
/** After this many processes without an answer the letters of a consumer are not checked. */
const MAX_ASKED = 2

/** What the schema of one handler says of letters. It says nothing of letters if nobody answered. */
export interface SchemaAnswer {
  readonly handler: string | undefined
  readonly verdicts: ReadonlyMap<string, LetterValidity>
  readonly answer: GateAnswer
}

/**
 * Asks living consumers what their schemas say of letters, by the command `validate`. One object serves one plan: a consumer
 * that did not answer is not asked again, so that a plan of many letters ends.
 */
export class FleetSchemas {
  readonly #store: Pick<Store, 'fleet' | 'commands'>
  readonly #environment: Pick<ReplayEnvironment, 'clock' | 'newId'>
  readonly #by: string
  readonly #signal: AbortSignal | undefined
  readonly #living: LivingProcesses | undefined
  /** Why nobody answered, by consumer. */
  readonly #silent = new Map<string, string>()
  /** The processes that failed to answer. */
  readonly #failed = new Set<string>()

  constructor(
    store: Pick<Store, 'fleet' | 'commands'>,
    environment: Pick<ReplayEnvironment, 'clock' | 'newId'>,
    by: string,
    signal?: AbortSignal,
  ) {
    this.#store = store
    this.#environment = environment
    this.#by = by
    this.#signal = signal
    this.#living = store.fleet && new LivingProcesses(store.fleet, environment.clock)
  }

  /** The answer of each handler that gets the events: without a handler, of every one of the channel that has a schema. */
  async ask(
    channel: string,
    handler: string | undefined,
    letters: readonly string[],
    patch: Replay['patch'],
  ): Promise<readonly SchemaAnswer[]> {
    const alive = await this.#alive()
    if (typeof alive === 'string') return [unanswered(handler, alive)]
    const concerned = alive.filter(each => hasPart(each, { channel, handler }))
    if (concerned.length === 0)
      return [unanswered(handler, `no living process in the fleet ${describePart({ channel, handler })}`)]
    const handlers = new Set(concerned.flatMap(each => schemaHandlers(each, channel, handler)))
    if (handlers.size === 0) return [unanswered(handler, 'its consumer has no schema')]
    return Promise.all([...handlers].map(each => this.#askHandler(channel, each, letters, patch)))
  }

  async #askHandler(
    channel: string,
    handler: string,
    letters: readonly string[],
    patch: Replay['patch'],
  ): Promise<SchemaAnswer> {
    const consumer = JSON.stringify([channel, handler])
    let reason = this.#silent.get(consumer)
    for (let asked = 0; asked < MAX_ASKED && !this.#silent.has(consumer); asked++) {
      const alive = await this.#alive()
      if (typeof alive === 'string') return unanswered(handler, alive)
      const able = alive.filter(
        each => schemaHandlers(each, channel, handler).length > 0 && !this.#failed.has(each.report.id),
      )
      if (able.length === 0) break
      const task = { kind: 'validate', channel, handler, letters, patch }
      const record = await this.#send(task, able)
      const process = able.find(({ report }) => report.id === record?.claimedBy)
      const verdicts = verdictsOf(record)
      if (verdicts !== undefined && process !== undefined)
        return { handler, verdicts, answer: this.#answerOf(process) }
      reason = failureOf(record, process)
      if (process === undefined) break
      this.#failed.add(process.report.id)
    }
    reason ??= 'the processes with its consumer do not answer'
    this.#silent.set(consumer, reason)
    return unanswered(handler, reason)
  }

  /** The living processes, or why they are unknown. */
  async #alive(): Promise<readonly Instance[] | string> {
    if (this.#living === undefined || this.#store.commands === undefined) return 'the store keeps no fleet'
    return this.#living.read().catch(() => 'the fleet of the store cannot be read')
  }

  async #send(task: { readonly kind: string }, to: readonly Instance[]): Promise<CommandRecord | undefined> {
    const { clock, newId } = this.#environment
    const commands = this.#store.commands!
    const id = newId(clock.now())
    const recipients = to.map(({ report }) => report.id)
    const reason = 'the plan of a replay'
    await commands.send([{ v: 1, id, request: id, task, recipients, by: this.#by, reason }], CLAIM_MS)
    const until = monotonicNow(clock) + CLAIM_MS + ANSWER_MS
    for (;;) {
      const [record] = await commands.get(id)
      if (record?.outcome !== undefined || record?.state === 'expired' || monotonicNow(clock) >= until)
        return record
      await sleep(clock, LOOK_EVERY_MS, this.#signal)
    }
  }

  #answerOf({ report: { id, service, version } }: Instance): GateAnswer {
    const saidAt = this.#environment.clock.now()
    return { answeredBy: 'fleet', saidAt, count: 1, processes: [{ id, service, version }] }
  }
}

/** The handlers of the channel, or this one of them, that have a schema in the process. */
function schemaHandlers(
  { report }: Instance,
  channel: string,
  handler: string | undefined,
): readonly string[] {
  return report.consumers
    .filter(each => each.channel === channel && each.hasSchema === true)
    .map(each => each.handler)
    .filter(each => (handler ?? each) === each)
}

function unanswered(handler: string | undefined, reason: string): SchemaAnswer {
  return { handler, verdicts: new Map(), answer: { answeredBy: 'nobody', reason } }
}

/** The process may have another version, so its answer is read with care. */
function verdictsOf(record: CommandRecord | undefined): ReadonlyMap<string, LetterValidity> | undefined {
  if (record?.outcome?.ok !== true) return undefined
  const { letters } = (record.outcome.result ?? {}) as { readonly letters?: unknown }
  if (!Array.isArray(letters) || letters.some(each => typeof each?.id !== 'string')) return undefined
  return new Map((letters as readonly LetterValidity[]).map(each => [each.id, each]))
}

function failureOf(record: CommandRecord | undefined, process: Instance | undefined): string {
  if (process === undefined) return `no living process took the question within ${CLAIM_MS / 1_000} s`
  const { service, id } = process.report
  const whose = `the process ${id} of ${service}`
  if (record?.outcome === undefined) return `${whose} did not answer within ${ANSWER_MS / 1_000} s`
  return record.outcome.ok
    ? `${whose} answered in a form that this version does not know`
    : `${whose} could not check it: ${record.outcome.error}`
}
