import { lastSendingOf } from '../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { notReplayable } from '../../core/dead-letter/storable-event.ts'
import { readThrown } from '../../core/failure/thrown.ts'
import { settlesWithin } from '../../ports/clock.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import type { PatchOperation } from '../../ports/replays.ts'
import type { StandardSchema } from '../../ports/schema.ts'
import { AnswerLimit } from '../answer-limit.ts'
import { ClosedError } from '../closed-error.ts'
import { lettersInFlight } from '../dispatcher/letters-in-flight.ts'
import { EVERY_SINK } from '../dispatcher/track/entry-limit.ts'
import { readPayloadOf, schemaFault } from '../schema-fault.ts'
import { dispatchersOf } from './open-parts.ts'
import { consumersOf, type FleetParts } from './report.ts'
import { IS_LEAVING, type TaskContext } from './task-context.ts'

/** The letters that one command validates or sends again at most. */
export const MAX_TASK_LETTERS = 500
/** The time for the sink. A letter without an outcome by then is `pending`: it says itself what became of it later. */
const RESEND_WAIT_MS = 20_000
const MAX_REASON_LENGTH = 500
/** The reason for a letter that the process does not find. It quotes nothing. */
export const NOT_STORED = 'it is not in the store of this process'

export interface ValidateTask {
  readonly channel: string
  readonly handler: string | undefined
  readonly letters: readonly string[] | undefined
  readonly patch: readonly PatchOperation[] | undefined
}

export interface ResendTask {
  readonly sink: string
  readonly letters: readonly string[] | undefined
}

export const VALIDITIES = ['valid', 'invalid', 'unknown'] as const

/** What a consumer's schema says of a letter. `reason` can quote the payload: mask it before it is shown. */
export interface LetterValidity {
  readonly id: string
  readonly validity: (typeof VALIDITIES)[number]
  readonly reason?: string | undefined
}

/** What became of a letter. The letter itself has the failures of its sink. */
export interface LetterResend {
  readonly id: string
  readonly outcome: 'delivered' | 'failed' | 'refused' | 'pending'
  readonly reason?: string | undefined
}

/** Checks letters against the schema of this process. Nothing is changed. */
export async function validateLetters(parts: FleetParts, task: ValidateTask, { signal }: TaskContext) {
  const { channel, handler } = task
  const schemas = consumersOf(parts, channel, handler).flatMap(each =>
    each.schema === undefined ? [] : [{ handler: each.health().handler, schema: each.schema }],
  )
  if (schemas.length === 0)
    throw new Error(
      `channel ${channel}: its consumer has no schema in this process; give createConsumer() one`,
    )
  const answers = new AnswerLimit(parts.clock, signal)
  const letters: LetterValidity[] = []
  for (const { id, letter } of await select(parts, task.letters, { channel, handler })) {
    letters.push({ id, ...(await validityOf(letter, task, schemas, answers)) })
    // A command that has failed is given to another process.
    signal.throwIfAborted()
  }
  return { valid: 0, invalid: 0, unknown: 0, ...countBy(letters, ({ validity }) => validity), letters }
}

interface HandlerSchema {
  readonly handler: string
  readonly schema: StandardSchema
}

/** An event goes back to its handler. A redirected one goes to every handler of the channel, so each schema must accept it. */
function schemasFor(
  letter: DeadLetter,
  { channel, handler }: ValidateTask,
  schemas: readonly HandlerSchema[],
): readonly HandlerSchema[] {
  if (handler !== undefined || letter.channel !== channel) return schemas
  return schemas.filter(each => each.handler === letter.handler)
}

async function validityOf(
  letter: DeadLetter | undefined,
  task: ValidateTask,
  schemas: readonly HandlerSchema[],
  answers: AnswerLimit,
): Promise<Omit<LetterValidity, 'id'>> {
  if (letter === undefined) return { validity: 'unknown', reason: NOT_STORED }
  const concerned = schemasFor(letter, task, schemas)
  if (concerned.length === 0)
    return { validity: 'unknown', reason: `this process has no schema of handler ${letter.handler}` }
  const unsendable = task.patch === undefined ? notReplayable(letter) : undefined
  if (unsendable !== undefined) return { validity: 'unknown', reason: cut(unsendable) }
  try {
    const payload = readPayloadOf(letter, task)
    for (const { schema } of concerned) {
      const reason = await schemaFault(schema, payload, answers)
      if (reason !== undefined) return { validity: 'invalid', reason: cut(reason) }
    }
    return { validity: 'valid' }
  } catch (error) {
    return { validity: 'unknown', reason: cut(readThrown(error).message) }
  }
}

/**
 * Sends the letters of a sink once more. Each is claimed by the state `replaying` first, so that no other command and no
 * replay sends it at the same time. If this process ends before the outcome, the letter stays `replaying`, and a person
 * reopens it. A process that leaves sends no further letter, and answers `pending` for those in its sink.
 */
export async function resendLetters(
  parts: FleetParts,
  { sink, letters: ids }: ResendTask,
  { by, signal }: TaskContext,
) {
  const [dispatcher] = dispatchersOf(parts, sink)
  if (dispatcher === undefined) throw new Error(`sink ${sink}: this process has no such sink`)
  const selected = await select(parts, ids, { handler: sink })
  const letters = await Promise.all(
    selected.map(async ({ id, letter }): Promise<LetterResend> => {
      const refusal = signal.aborted ? IS_LEAVING : refusalOf(letter, sink)
      if (refusal !== undefined) return { id, outcome: 'refused', reason: refusal }
      const seen = { from: 'dead', onlyIfReplays: letter?.replays } as const
      const claim = { ...seen, to: 'replaying', at: parts.clock.now(), by } as const
      const claimed = await parts.letters!.change(id, claim).catch(readThrown)
      if (claimed === undefined) return { id, outcome: 'refused', reason: 'another process changed it first' }
      if (!('event' in claimed)) return { id, outcome: 'refused', reason: cut(claimed.message) }
      if (signal.aborted) {
        await returnUnsent(parts, claimed)
        return { id, outcome: 'refused', reason: IS_LEAVING }
      }
      const sending = lettersInFlight(dispatcher).send(id, undefined, () => dispatcher.resend(claimed))
      if (sending === undefined) return { id, outcome: 'pending' }
      return { id, outcome: await outcomeOf(parts, claimed, sending, signal) }
    }),
  )
  const counts = countBy(letters, ({ outcome }) => outcome)
  return { delivered: 0, failed: 0, refused: 0, pending: 0, ...counts, letters }
}

function refusalOf(letter: DeadLetter | undefined, sink: string): string | undefined {
  if (letter === undefined) return NOT_STORED
  const { state, handler, origin } = letter
  if (origin.broker !== undefined) return `it came from broker ${origin.broker}; replay it`
  if (handler !== sink && handler !== EVERY_SINK) return `it is a letter of ${handler}, not of sink ${sink}`
  if (state !== 'dead') return `it is ${state}; only dead letters are sent`
  const unsendable = notReplayable(letter)
  return unsendable && `the store does not hold it as it was sent (${cut(unsendable)})`
}

async function outcomeOf(
  parts: FleetParts,
  claimed: DeadLetter,
  sending: Promise<unknown>,
  signal: AbortSignal,
): Promise<LetterResend['outcome']> {
  const ended = sending.then(
    () => 'delivered' as const,
    async (error: unknown) => {
      // A closed dispatcher took nothing, so no outcome will come.
      if (error instanceof ClosedError) await returnUnsent(parts, claimed)
      return 'failed' as const
    },
  )
  return (await settlesWithin(parts.clock, RESEND_WAIT_MS, ended, signal)) ? ended : 'pending'
}

/** Makes a letter dead again that was claimed and not sent. */
async function returnUnsent({ clock, letters }: FleetParts, claimed: DeadLetter): Promise<void> {
  await letters!.change(claimed.id, { to: 'dead', at: clock.now(), onlyIfSentBy: lastSendingOf(claimed) })
}

/** The letters of these ids, or without ids the dead letters that match, newest failure first. */
async function select(
  { letters }: FleetParts,
  ids: readonly string[] | undefined,
  filter: LetterFilter,
): Promise<readonly { readonly id: string; readonly letter: DeadLetter | undefined }[]> {
  if (letters === undefined)
    throw new Error('this process joined the fleet with a store that has no dead letters')
  if (ids !== undefined)
    return Promise.all([...new Set(ids)].map(async id => ({ id, letter: await letters.get(id) })))
  const page = await letters.list({ ...filter, state: 'dead', limit: MAX_TASK_LETTERS })
  return page.letters.map(letter => ({ id: letter.id, letter }))
}

function countBy<T, K extends string>(all: readonly T[], keyOf: (each: T) => K): { [key in K]?: number } {
  const counts: { [key in K]?: number } = {}
  for (const each of all) counts[keyOf(each)] = (counts[keyOf(each)] ?? 0) + 1
  return counts
}

function cut(reason: string): string {
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH)}…`
}
