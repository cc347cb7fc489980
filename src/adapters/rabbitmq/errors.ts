import { LazaretError } from '../../core/failure/errors.ts'

/** The server cannot be reached, or did not answer in time. The request may or may not have been executed. */
export class RabbitmqUnreachableError extends LazaretError {
  override readonly name = 'RabbitmqUnreachableError'

  constructor(server: string, problem: string, cause?: unknown) {
    super(`RabbitMQ ${server}: ${problem}; check that it runs and that this machine can reach it`, {
      code: 'LAZARET_BROKER_UNREACHABLE',
      retryable: true,
      cause,
    })
  }
}

/** The server answered, and does not let us in: trying again cannot help. */
export class RabbitmqRefusedError extends LazaretError {
  override readonly name = 'RabbitmqRefusedError'

  constructor(server: string, problem: string, cause?: unknown) {
    super(`RabbitMQ ${server}: refused: ${problem}; check user, password, vhost and permissions`, {
      code: 'LAZARET_BROKER_REFUSED',
      retryable: false,
      cause,
    })
  }
}

const ACCESS_REFUSED = 403

/** Explains the error of a channel. If the server denies the permission, the error has the remedy. */
export function explainRefusal(server: string, error: unknown): Error {
  const { code, message } = error as Error & { readonly code?: unknown }
  return code === ACCESS_REFUSED ? new RabbitmqRefusedError(server, message, error) : (error as Error)
}

/** No queue is bound for the message. Without this error RabbitMQ would drop it silently. */
export class UnroutableError extends LazaretError {
  override readonly name = 'UnroutableError'
  readonly exchange: string
  readonly routingKey: string

  constructor(exchange: string, routingKey: string) {
    super(
      `${destinationName(exchange, routingKey)}: no queue takes it, so nothing was kept; declare the queue, or fix its binding`,
      {
        code: 'LAZARET_BROKER_UNROUTABLE',
        retryable: false,
      },
    )
    this.exchange = exchange
    this.routingKey = routingKey
  }
}

/** The exchange of the message was deleted. The server kept nothing. */
export class ExchangeMissingError extends LazaretError {
  override readonly name = 'ExchangeMissingError'

  constructor(exchange: string, cause: unknown) {
    super(
      `exchange '${exchange}': does not exist, so nothing was stored; declare it and its bindings, or publish with \`declare: 'all'\``,
      { code: 'LAZARET_BROKER_UNROUTABLE', retryable: true, cause },
    )
  }
}

/** Messages wait in the queue, and the server delivers none although the consumer has room. */
export class NoDeliveriesError extends LazaretError {
  override readonly name = 'NoDeliveriesError'

  constructor(queue: string) {
    super(
      `queue '${queue}': messages are ready but the server delivers none; Lazaret reopens the channel. If this continues, check that the queue has a leader: rabbitmqctl list_queues name leader online`,
      { code: 'LAZARET_BROKER_UNREACHABLE', retryable: true },
    )
  }
}

/** A queue is full and refuses messages. Earlier messages of the same call stay published. */
export class QueueFullError extends LazaretError {
  override readonly name = 'QueueFullError'

  constructor(exchange: string, routingKey: string, cause: unknown) {
    super(
      `${destinationName(exchange, routingKey)}: the server refused the message, as a full queue does; let the consumers catch up, then publish again`,
      { code: 'LAZARET_BROKER_FULL', retryable: true, cause },
    )
  }
}

/** Headers travel in one frame; the server ends the connection over a larger one, so it is not sent at all. */
export class HeadersTooLargeError extends LazaretError {
  override readonly name = 'HeadersTooLargeError'

  constructor(bytes: number, max: number) {
    super(`message headers: ${bytes} bytes, and RabbitMQ accepts ${max}; move large values to the payload`, {
      code: 'LAZARET_EVENT_INVALID',
      retryable: false,
    })
  }
}

/** An object on the server differs from the one to declare. Nothing was changed. */
export class TopologyError extends LazaretError {
  override readonly name = 'TopologyError'
  /** The queue or exchange. */
  readonly subject: string

  constructor(subject: string, difference: string, remedy: string, cause?: unknown) {
    super(`${subject}: ${difference}; ${remedy}`, {
      code: 'LAZARET_TOPOLOGY_MISMATCH',
      retryable: false,
      cause,
    })
    this.subject = subject
  }
}

function destinationName(exchange: string, routingKey: string): string {
  return exchange === '' ? `queue '${routingKey}'` : `exchange '${exchange}' with routing key '${routingKey}'`
}
