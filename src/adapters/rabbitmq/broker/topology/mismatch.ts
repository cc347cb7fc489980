import { TopologyError } from '../../errors.ts'
import type { ExchangeSpec, QueueSpec } from './plan.ts'

/** `inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received the value '5' of type 'signedint' but current is none` */
const INEQUIVALENT =
  /inequivalent arg '([^']+)' for (?:queue|exchange) .*?: received (.+?) but current is (.+?)(?:"|$)/

/** The server says what differs, one thing at a time; this says what to do about it. */
export function explainMismatch(spec: QueueSpec | ExchangeSpec, cause: unknown): TopologyError {
  const text = cause instanceof Error ? cause.message : String(cause)
  const subject = `${spec.kind} '${spec.name}'`
  const [, argument, wanted, found] = INEQUIVALENT.exec(text) ?? []
  if (argument === undefined)
    return new TopologyError(subject, text, 'check the message of the server', cause)
  const difference = `exists with ${argument} ${plain(found)}, but Lazaret declares ${plain(wanted)}`
  return new TopologyError(subject, difference, remedyFor(spec, argument), cause)
}

function remedyFor(spec: QueueSpec | ExchangeSpec, argument: string): string {
  if (spec.kind === 'exchange')
    return "delete it if it is not needed, or set `route` and `declare: 'auxiliary'` to use an exchange of your own"
  if (!spec.isMain)
    return `when it is empty, delete it (rabbitmqctl delete_queue ${spec.name}) and start again; it is declared again`
  const keep = "keep the queue as it is with `declare: 'auxiliary'`"
  if (argument === 'x-queue-type' || argument === 'durable')
    return `${keep}, set queueType to the existing type, or move its messages and delete it`
  const policy = POLICIES[argument]
  if (policy === undefined) return `${keep}, or delete the queue when it is empty`
  const definition = JSON.stringify({ [policy]: spec.options.arguments[argument] })
  return `${keep}, and set the rest by a policy: rabbitmqctl set_policy lazaret '^${spec.name}$' '${definition}' --apply-to queues`
}

/** Arguments that a policy can set on a queue that is there. */
const POLICIES: Readonly<Record<string, string>> = {
  'x-dead-letter-exchange': 'dead-letter-exchange',
  'x-dead-letter-routing-key': 'dead-letter-routing-key',
  'x-dead-letter-strategy': 'dead-letter-strategy',
  'x-delivery-limit': 'delivery-limit',
  'x-overflow': 'overflow',
  'x-message-ttl': 'message-ttl',
  'x-max-length': 'max-length',
}

/** "the value '5' of type 'signedint'" → "'5'"; "none" stays. */
function plain(text = ''): string {
  return /'[^']*'/.exec(text)?.[0] ?? text
}
