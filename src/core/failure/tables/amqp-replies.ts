import { again, type Classification, giveUp } from '../classification.ts'
import { property, type Thrown } from '../thrown.ts'

const TRANSIENT = again('amqp-reply', 'transient')
const BROKEN = again('amqp-reply', 'integration')
const REFUSED = giveUp('amqp-reply', 'integration')

/**
 * Only errors of the message or the command are permanent. A refused login or a missing queue concerns every event, and a
 * queue also counts as "not found" while its node is down, so those are retryable.
 */
const REPLIES: readonly (readonly [number, string, Classification])[] = [
  [311, 'CONTENT_TOO_LARGE', giveUp('amqp-reply', 'schema')],
  [312, 'NO_ROUTE', BROKEN],
  [313, 'NO_CONSUMERS', TRANSIENT],
  [320, 'CONNECTION_FORCED', TRANSIENT],
  [402, 'INVALID_PATH', REFUSED],
  [403, 'ACCESS_REFUSED', BROKEN],
  [404, 'NOT_FOUND', BROKEN],
  [405, 'RESOURCE_LOCKED', TRANSIENT],
  [406, 'PRECONDITION_FAILED', REFUSED],
  [501, 'FRAME_ERROR', REFUSED],
  [502, 'SYNTAX_ERROR', REFUSED],
  [503, 'COMMAND_INVALID', REFUSED],
  [504, 'CHANNEL_ERROR', TRANSIENT],
  [505, 'UNEXPECTED_FRAME', TRANSIENT],
  [506, 'RESOURCE_ERROR', TRANSIENT],
  [530, 'NOT_ALLOWED', BROKEN],
  [540, 'NOT_IMPLEMENTED', REFUSED],
  [541, 'INTERNAL_ERROR', BROKEN],
]

const BY_NUMBER = new Map(
  REPLIES.map(([number, name, classification]) => [String(number), { name, classification }]),
)
const BY_NAME: ReadonlyMap<string, Classification> = new Map(
  REPLIES.map(([, name, classification]) => [name, classification]),
)

export function amqpReply(thrown: Thrown): Classification | undefined {
  if (thrown.code === undefined) return undefined
  const reply = BY_NUMBER.get(thrown.code)
  if (reply !== undefined) return hasAmqplibMark(thrown, reply.name) ? reply.classification : undefined
  return thrown.name.startsWith('AMQP') ? BY_NAME.get(thrown.code) : undefined
}

/** Other libraries use a bare 404 too. amqplib adds the failed method, or writes `320 (CONNECTION-FORCED)`. */
function hasAmqplibMark({ value, code, message }: Thrown, reply: string): boolean {
  if (typeof property(value, 'classId') === 'number' && typeof property(value, 'methodId') === 'number')
    return true
  return message.includes(`${code} (${reply.replaceAll('_', '-')})`)
}
