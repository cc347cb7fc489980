import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { notReplayable } from '../core/dead-letter/storable-event.ts'
import { readThrown } from '../core/failure/thrown.ts'
import type { GateAnswer, Replay, ReplayDecision } from '../ports/replays.ts'
import type { StandardSchema } from '../ports/schema.ts'
import { AnswerLimit, NoAnswerError } from '../runtime/answer-limit.ts'
import { changesPayload, readPayloadOf, replacesPayload, schemaFault } from '../runtime/schema-fault.ts'
import { type GateVerdict, passGates } from './gates.ts'
import type { DownstreamAnswer, ReplayEnvironment } from './target.ts'

/** The options of a replay that the gates use. */
export type JudgedOptions = Pick<Replay, 'to' | 'patch' | 'maxAgeMs' | 'allowQuarantined' | 'isAutomatic'>

/** Where the event of a letter goes: to a handler of a channel, to all of them, or to a sink. */
export interface Receiver {
  readonly channel: string
  readonly handler?: string | undefined
  readonly sink?: string | undefined
}

/** What this process found out about a letter. */
export interface Examined {
  readonly verdict: GateVerdict
  readonly receiver: Receiver
  /** Whether the letter came to the schema gate, and whether this process could check its payload. */
  readonly schema: 'not reached' | 'checked' | 'unknown'
  readonly downstream: DownstreamAnswer
}

/** The decisions of letters that have passed the schema gate. */
const AFTER_SCHEMA: ReadonlySet<ReplayDecision> = new Set(['replay', 'skip_expired', 'skip_downstream'])

const NOT_ASKED: GateAnswer = { answeredBy: 'nobody', reason: 'this process cannot ask its consumer' }

/**
 * Decides on a letter before it is sent, because it may have changed since the plan. Only the schemas of this process are
 * asked: the plan has asked those of other processes, and the consumer checks each event once more.
 */
export async function judge(
  letter: DeadLetter,
  asked: JudgedOptions,
  environment: ReplayEnvironment,
  now: number,
): Promise<GateVerdict> {
  const answers = new AnswerLimit(environment.clock)
  const ask = (receiver: Receiver) => askDownstream(receiver, environment, answers)
  return (await examine(letter, asked, environment, now, answers, ask)).verdict
}

/**
 * `answers` limits the time of schemas. Give one to all letters of a plan, so that a schema that does not answer is not asked
 * for each.
 */
export async function examine(
  letter: DeadLetter,
  asked: JudgedOptions,
  environment: ReplayEnvironment,
  now: number,
  answers: AnswerLimit,
  askAbout: (receiver: Receiver) => Promise<DownstreamAnswer>,
): Promise<Examined> {
  const receiver = receiverOf(letter, asked)
  const route = await environment.routeOf?.(letter, asked.to)
  const downstream = await askAbout(receiver)
  const verdict = passGates(letter, {
    now,
    maxAgeMs: asked.maxAgeMs,
    isAutomatic: asked.isAutomatic ?? false,
    // Comparing payloads takes time, and the gates ask about quarantined letters only.
    isEdited:
      letter.state === 'quarantined' && asked.patch !== undefined && changesPayload(letter, asked.patch),
    allowQuarantined: asked.allowQuarantined,
    routeFault: route?.kind === 'none' ? route.reason : undefined,
    unsendable: asked.patch !== undefined && replacesPayload(asked.patch) ? undefined : notReplayable(letter),
    downstreamFault: downstream.fault,
  })
  if (!AFTER_SCHEMA.has(verdict.decision)) return { verdict, receiver, schema: 'not reached', downstream }
  const { channel, handler, sink } = receiver
  const schema = environment.schemaOf?.(channel, handler ?? sink)
  const fault = await payloadFault(letter, asked, schema, answers)
  if (fault !== undefined) return { verdict: refused(fault), receiver, schema: 'checked', downstream }
  return { verdict, receiver, schema: schema === undefined ? 'unknown' : 'checked', downstream }
}

/** The decision of the schema gate. It comes before the decisions of later gates. */
export function refused(reason: string): GateVerdict {
  return { decision: 'skip_schema', reason }
}

/** What is known of the receiver. A check that does not answer in time counts as a fault. */
export async function askDownstream(
  { channel, sink }: Receiver,
  { downstreamFault: ask, clock }: ReplayEnvironment,
  answers: AnswerLimit,
): Promise<DownstreamAnswer> {
  if (ask === undefined) return { answer: NOT_ASKED }
  try {
    const given = await answers.of(channel, 'the check of its consumer', () => ask(channel, sink))
    if (typeof given === 'object') return given
    return { fault: given, answer: { answeredBy: 'planner', saidAt: clock.now() } }
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
    return { fault: error.message, answer: { answeredBy: 'nobody', reason: error.message } }
  }
}

function receiverOf({ channel, handler, origin }: DeadLetter, { to }: JudgedOptions): Receiver {
  if (to !== undefined && to !== channel) return { channel: to }
  // Neither a sink nor a wrapped function has a broker.
  return origin.broker === undefined && to === undefined ? { channel, sink: handler } : { channel, handler }
}

async function payloadFault(
  letter: DeadLetter,
  asked: Pick<Replay, 'patch'>,
  schema: StandardSchema | undefined,
  answers: AnswerLimit,
): Promise<string | undefined> {
  try {
    const payload = readPayloadOf(letter, asked)
    return schema && (await schemaFault(schema, payload, answers))
  } catch (error) {
    return readThrown(error).message
  }
}
