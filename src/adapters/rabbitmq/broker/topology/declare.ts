import type { QueueDepth } from '../../../../ports/broker.ts'
import type { AmqpChannel, AmqpConnection, QueueReply } from '../../connection/amqp.ts'
import { requireOpen } from '../../connection/amqplib-internals.ts'
import { explainMismatch } from './mismatch.ts'
import type { Spec } from './plan.ts'

const NOT_FOUND = 404
const PRECONDITION_FAILED = 406

/** Declares missing objects. Existing objects that differ are left alone, and reported. */
export async function declareAll(connection: AmqpConnection, specs: readonly Spec[]): Promise<void> {
  await onChannel(connection, async channel => {
    for (const spec of specs) await declare(channel, spec)
  })
}

async function declare(channel: AmqpChannel, spec: Spec): Promise<void> {
  try {
    if (spec.kind === 'queue') await channel.assertQueue(spec.name, spec.options)
    else if (spec.kind === 'exchange') await channel.assertExchange(spec.name, spec.type, { durable: true })
    else await channel.bindQueue(spec.queue, spec.exchange, spec.pattern)
  } catch (error) {
    if (spec.kind !== 'binding' && codeOf(error) === PRECONDITION_FAILED) throw explainMismatch(spec, error)
    throw error
  }
}

/** The queue's depth and consumers, or undefined when there is none of that name. */
export async function inspect(connection: AmqpConnection, queue: string): Promise<QueueReply | undefined> {
  try {
    return await onChannel(connection, channel => channel.checkQueue(queue))
  } catch (error) {
    if (codeOf(error) === NOT_FOUND) return undefined
    throw error
  }
}

/** The depths of the queues that exist. */
export async function depthsOf(
  connection: AmqpConnection,
  queues: readonly string[],
): Promise<readonly QueueDepth[]> {
  const depths: QueueDepth[] = []
  for (const queue of queues) {
    const found = await inspect(connection, queue)
    if (found !== undefined) depths.push({ queue, depth: found.messageCount })
  }
  return depths
}

/** A refused declaration closes its channel. So each declaration has its own channel, and no other work is affected. */
export async function onChannel<T>(
  connection: AmqpConnection,
  work: (channel: AmqpChannel) => Promise<T>,
): Promise<T> {
  const channel = await connection.createChannel()
  channel.on('error', () => {})
  const ended = new Promise<void>(resolve => channel.on('close', () => resolve()))
  requireOpen(channel)
  try {
    return await work(channel)
  } finally {
    // Already closed, if the work failed on it. The client does not answer when the connection ends first; then the channel ends with it.
    await Promise.race([channel.close().catch(() => {}), ended])
  }
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code
}
