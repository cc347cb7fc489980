import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { JsonValue } from '../core/event/event.ts'
import type { PatchOperation } from '../ports/replays.ts'
import type { StandardSchema } from '../ports/schema.ts'
import type { AnswerLimit } from './answer-limit.ts'
import { applyPatch } from './json-patch.ts'

/** The payload that a letter is sent with: the original, with the patch applied. */
export function payloadOf(
  { event }: Pick<DeadLetter, 'event'>,
  { patch }: { readonly patch?: readonly PatchOperation[] | undefined },
): unknown {
  return patch === undefined ? event.payload : applyPatch(event.payload as JsonValue, patch)
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
