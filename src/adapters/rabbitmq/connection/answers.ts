import type { Cancel, Clock } from '../../../ports/clock.ts'
import type { AmqpConnection } from './amqp.ts'

/** What is reached into of the client's connection; one that does not show it is asked to close. */
interface Shown {
  readonly connection?: { readonly stream?: { destroy?(error: Error): unknown } }
}

/**
 * Ends a connection that does not answer when a channel is to be opened. After a quorum queue was deleted under load,
 * RabbitMQ 3.10 was seen to answer nothing for 32 s on a connection that had published to it, while heartbeats went on:
 * probably it waits for the queue's credit. A server that has said that it is short of memory or disk is waited for.
 */
export function requireAnswers(connection: AmqpConnection, clock: Clock, limitMs: number): void {
  let isBlocked = false
  connection.on('blocked', () => {
    isBlocked = true
  })
  connection.on('unblocked', () => {
    isBlocked = false
  })
  const limited = async <T>(opening: Promise<T>): Promise<T> => {
    let cancel: Cancel = () => {}
    const wait = () => {
      cancel = clock.schedule(limitMs, () => (isBlocked ? wait() : end(connection, limitMs)))
    }
    wait()
    try {
      return await opening
    } finally {
      cancel()
    }
  }
  const createChannel = connection.createChannel.bind(connection)
  const createConfirmChannel = connection.createConfirmChannel.bind(connection)
  connection.createChannel = () => limited(createChannel())
  connection.createConfirmChannel = options => limited(createConfirmChannel(options))
}

/** A closing in good order would wait for an answer as well. */
function end(connection: AmqpConnection, limitMs: number): void {
  const { stream } = (connection as Shown).connection ?? {}
  const error = new Error(`the server did not open a channel within ${limitMs} ms`)
  if (stream?.destroy === undefined) connection.close().catch(() => {})
  else stream.destroy(error)
}
