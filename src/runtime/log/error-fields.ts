import type { Masks } from '../../core/dead-letter/masks.ts'
import { Walk } from '../../core/failure/chain.ts'
import { bounded, MESSAGE_MAX, stackOf } from '../../core/failure/thrown.ts'

interface ErrorFields {
  readonly type: string
  /** Followed by those of its causes. */
  readonly message: string
  readonly code?: string
  readonly stack?: string
}

/**
 * What a log may know of an error: masked texts, and none of what else hangs on it, which may be a payload or a request.
 * It comes out of pino's serializer of errors as it went in: that takes the type from a `name` when there is no constructor.
 */
export function errorFields(error: unknown, masks: Masks): ErrorFields {
  const chain = new Walk().chainFrom(error)
  const type = chain[0].name
  const code = chain.find(one => one.code !== undefined)?.code
  const messages = [...new Set(chain.map(one => one.message))].join(': ')
  const stack = stackOf(error)
  const fields = {
    type,
    message: bounded(masks.maskText(messages), MESSAGE_MAX),
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack: masks.maskText(stack) }),
  }
  return Object.defineProperty(Object.assign(Object.create(null), fields), 'name', { value: type })
}
