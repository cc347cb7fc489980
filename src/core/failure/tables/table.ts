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

/** The marks hardest to mistake come first; a bare name comes last. */
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

/** What Lazaret knows of errors that are neither its own signals nor the handler's. */
export function lookUp(thrown: Thrown): Classification | undefined {
  for (const part of PARTS) {
    const classification = part(thrown)
    if (classification !== undefined) return classification
  }
  return undefined
}
