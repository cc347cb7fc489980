import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { JsonValue } from '../core/event/event.ts'
import { isJsonBytes, withJson } from '../core/event/exact-numbers.ts'
import { WIDEST_EVENT_LIMITS } from '../core/event/limits.ts'
import { checkPayload } from '../core/event/payload.ts'
import { type Fault, Faults } from '../core/options/faults.ts'
import type { PatchOperation } from '../ports/replays.ts'
import type { StandardSchema } from '../ports/schema.ts'
import type { AnswerLimit } from './answer-limit.ts'
import { applyPatch, equals } from './json-patch.ts'

/** The payload that a letter is sent with: the original, with the patch applied. */
export function payloadOf(
  { event }: Pick<DeadLetter, 'event'>,
  { patch }: { readonly patch?: readonly PatchOperation[] | undefined },
): unknown {
  if (patch === undefined) return event.payload
  if (isJsonBytes(event) && !replacesPayload(patch)) throw new RoundedNumbersError()
  const payload = applyPatch(withJson(event).payload as JsonValue, patch)
  requireReadable(payload)
  return payload
}

/** The same as a schema and a handler get it. */
export function readPayloadOf(
  { event }: Pick<DeadLetter, 'event'>,
  asked: { readonly patch?: readonly PatchOperation[] | undefined },
): unknown {
  return asked.patch === undefined ? withJson(event).payload : payloadOf({ event }, asked)
}

/** Whether the patch writes a whole new payload. */
export function replacesPayload(patch: readonly PatchOperation[]): boolean {
  return patch.some(({ op, path }) => (op === 'replace' || op === 'add') && path === '')
}

/** Whether the patch changes the payload of this letter, or cannot be applied to it: then the schema gate gives the reason. */
export function changesPayload(letter: Pick<DeadLetter, 'event'>, patch: readonly PatchOperation[]): boolean {
  if (patch.every(({ op }) => op === 'test')) return false
  try {
    return !equals(withJson(letter.event).payload as JsonValue, payloadOf(letter, { patch }) as JsonValue)
  } catch {
    return true
  }
}

/** A consumer could not read the event, so its letter would stay `replaying`. */
function requireReadable(payload: unknown): void {
  const faults = new Faults()
  checkPayload(payload, WIDEST_EVENT_LIMITS, faults)
  const [fault] = faults.list
  if (fault !== undefined) throw new UnreadablePayloadError(fault)
}

class UnreadablePayloadError extends Error {
  override readonly name = 'UnreadablePayloadError'

  constructor({ received, remedy }: Fault) {
    super(`the payload with the patch cannot be read back (${received}); ${remedy}`)
  }
}

/** A patch would write the payload again, and round its other numbers. */
class RoundedNumbersError extends Error {
  override readonly name = 'RoundedNumbersError'

  constructor() {
    super(
      'the payload has numbers that JavaScript would round, so a patch cannot change a part of it; replay it without a patch, or replace the whole payload',
    )
  }
}

/** Why the schema refuses a payload; undefined if it accepts it. Rejects if the schema throws or does not answer in time. */
export async function schemaFault(
  schema: StandardSchema,
  payload: unknown,
  answers: AnswerLimit,
): Promise<string | undefined> {
  const result = await answers.of(schema, 'the schema', () => schema['~standard'].validate(payload))
  return result.issues?.map(({ message }) => message).join('; ')
}
