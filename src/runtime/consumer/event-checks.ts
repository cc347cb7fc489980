import { REASONS, type Reason } from '../../core/dead-letter/reason.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { judgePoison, type PoisonVerdict } from '../../core/poison/poison.ts'
import { isPromiseLike } from '../../core/promise-like.ts'
import { untilAborted } from '../../ports/clock.ts'
import type { SchemaIssue } from '../../ports/schema.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { HandlerContext } from './handler-context.ts'
import { isUndecodable, type Refusal, type Work } from './work.ts'

type Poisoned = Extract<PoisonVerdict, { readonly poisoned: true }>

/**
 * Checks an event before its first attempt: can it be decoded, is it poison, has it an attempt left, has it expired, does it
 * match the schema? Returns synchronously unless the schema is async, because most events pass.
 */
export function checkEvent(
  policy: ConsumerPolicy,
  work: Work,
  now: number,
): Refusal | undefined | Promise<Refusal | undefined> {
  const { content, started } = work.delivery
  if (isUndecodable(content)) {
    // A process that has the key can handle it. As a letter, it could not be replayed.
    if (content.missingKey !== undefined) throw content.missingKey
    return refuse('undecodable', `cannot be decoded as an event: ${content.problem}`)
  }
  const hasAttemptsLeft = started < policy.mostAttempts
  if (started > 0) {
    const poison = judgePoison(work.cycleHistory(), policy.poison, now, hasAttemptsLeft)
    if (poison.poisoned) return poisoned(poison)
  }
  if (!hasAttemptsLeft)
    return refuse('attempts_exhausted', `all ${started} attempts started and none succeeded`)
  const { expiresAt } = work.event
  if (expiresAt !== undefined && expiresAt <= now)
    return refuse('expired', `expired at ${new Date(expiresAt).toISOString()}`)
  return policy.schema === undefined ? undefined : checkSchema(policy, policy.schema, work)
}

/**
 * The refusal of a poison event. The consumer finds repeated errors right after the attempt. They are found here only if the
 * letter could not be saved then; the event does not run again.
 */
function poisoned({ by, count }: Poisoned): Refusal {
  return by === 'crashes'
    ? refuse('crash_loop', `${count} attempts started and never ended: the process crashed each time`)
    : refuse('poison', `${count} attempts failed with the same error`)
}

function checkSchema(
  { faults, inputOf }: ConsumerPolicy,
  schema: NonNullable<ConsumerPolicy['schema']>,
  work: Work,
): Refusal | undefined | Promise<Refusal | undefined> {
  const broken = (thrown: unknown): Refusal => {
    faults.report('schema', thrown, { event: work.event })
    return { reason: 'schema', thrown }
  }
  work.input = inputOf(work.event)
  try {
    const result = schema['~standard'].validate(work.input.payload)
    if (!isPromiseLike(result)) return judged(result, work)
    return Promise.resolve(result)
      .then(settled => judged(settled, work))
      .catch(broken)
  } catch (thrown) {
    return broken(thrown)
  }
}

/** A schema may also transform: its handler gets what the schema made, the letter keeps what was sent. */
function judged(
  result: { readonly issues?: readonly SchemaIssue[] | undefined },
  work: Work,
): Refusal | undefined {
  if (result.issues !== undefined) return { reason: 'schema', thrown: new SchemaMismatch(result.issues) }
  // The handler must not receive an unchecked payload when the schema itself fails.
  if (!('value' in result)) throw new TypeError('the schema returned neither value nor issues')
  work.input = { ...work.input, payload: (result as { readonly value: unknown }).value }
  return undefined
}

/** Carries `issues`, which is how classification knows a validation error of any library. */
class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch'
  readonly issues: readonly SchemaIssue[]

  constructor(issues: readonly SchemaIssue[]) {
    super(issues.slice(0, 5).map(describe).join('; ') || 'the payload does not match the schema')
    this.issues = issues
  }
}

function describe({ message, path = [] }: SchemaIssue): string {
  const names = path.map(step => String(typeof step === 'object' && step !== null ? step.key : step))
  return names.length === 0 ? message : `${names.join('.')}: ${message}`
}

function refuse(reason: Reason, message: string): Refusal {
  return { reason, thrown: new Refused(message, { category: REASONS[reason].category }) }
}

/** Names its category itself, because classification could not derive it from the message. */
class Refused extends PermanentError {
  override readonly name = 'Refused'
}

/** Thrown inside an attempt: the schema has refused the payload, so the handler was not called. */
export class SchemaRefusal extends Error {
  override readonly name = 'SchemaRefusal'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super('the schema rejected the payload')
    this.refusal = refusal
  }
}

/**
 * The first part of an attempt where the schema is async: its answer is waited for until the attempt ends, and the handler is
 * called only if that is in time. A validation has no effects, so nothing waits for one that goes on after its attempt.
 */
export async function validateThen(
  work: Work,
  context: HandlerContext,
  handle: () => unknown,
): Promise<unknown> {
  const refusal = await untilAborted(work.validation!, context.signal)
  context.signal.throwIfAborted()
  if (refusal !== undefined) throw new SchemaRefusal(refusal)
  work.validation = undefined
  return handle()
}
