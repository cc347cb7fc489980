import type { HandlerContext } from './handler-context.ts'
import type { Refusal } from './refusal.ts'
import type { Work } from './work.ts'

/** Thrown inside an attempt: the schema has refused the payload, so the handler was not called. */
export class SchemaRefusal extends Error {
  override readonly name = 'SchemaRefusal'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super('the schema refused the payload')
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

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(value => {
      signal.removeEventListener('abort', onAbort)
      resolve(value)
    }, reject)
  })
}
