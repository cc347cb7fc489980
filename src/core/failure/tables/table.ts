import type { Classification } from '../classification.ts'
import type { Thrown } from '../thrown.ts'
import { amqpReply } from './amqp-replies.ts'
import { errorName } from './error-names.ts'
import { httpStatus } from './http-status.ts'
import { ownError } from './own-errors.ts'
import { redisReply } from './redis-replies.ts'
import { sqlstate } from './sqlstate.ts'
import { systemCode } from './system-codes.ts'
import { jsonSyntax, validation } from './validation.ts'

type Part = (thrown: Thrown) => Classification | undefined

/** The most reliable marks come first; a bare name comes last. */
const PARTS: readonly Part[] = [
  ownError,
  validation,
  jsonSyntax,
  sqlstate,
  amqpReply,
  redisReply,
  httpStatus,
  systemCode,
  errorName,
]

/** Classifies errors that are neither signals nor covered by the handler's rules. */
export function lookUp(thrown: Thrown): Classification | undefined {
  for (const part of PARTS) {
    const classification = part(thrown)
    if (classification !== undefined) return classification
  }
  return undefined
}
