import { LazaretError } from '../../core/failure/errors.ts'

/** The server cannot be reached, or did not answer in time. The request may or may not have been executed. */
export class NatsUnreachableError extends LazaretError {
  override readonly name = 'NatsUnreachableError'

  constructor(server: string, problem: string, cause?: unknown) {
    super(`NATS ${server}: ${problem}; check that it runs and that this machine can reach it`, {
      code: 'LAZARET_BROKER_UNREACHABLE',
      retryable: true,
      cause,
    })
  }
}

/** The server answered, and does not let us in: trying again cannot help. */
export class NatsRefusedError extends LazaretError {
  override readonly name = 'NatsRefusedError'

  constructor(server: string, problem: string, cause?: unknown) {
    super(
      `NATS ${server}: refused: ${problem}; check user, password and permissions, and that JetStream is enabled for the account`,
      { code: 'LAZARET_BROKER_REFUSED', retryable: false, cause },
    )
  }
}

/** The server answered a request of JetStream with an error. */
export class JetStreamError extends LazaretError {
  override readonly name = 'JetStreamError'
  /** The number of the error in the list of the server. */
  readonly errorCode: number

  constructor(request: string, errorCode: number, description: string) {
    super(
      `JetStream ${request}: ${description} (error ${errorCode}); see \`lazaret nats status\` for the streams and consumers`,
      { code: 'LAZARET_BROKER_REFUSED', retryable: true },
    )
    this.errorCode = errorCode
  }
}

/** A stream does not exist, and creating it is not ours to do. */
export class StreamMissingError extends LazaretError {
  override readonly name = 'StreamMissingError'

  constructor(stream: string) {
    super(`stream '${stream}': does not exist; create it: lazaret nats declare, or use \`declare: 'all'\``, {
      code: 'LAZARET_BROKER_UNROUTABLE',
      retryable: true,
    })
  }
}

/** A stream exists and is another one than the channel needs. */
export class StreamMismatchError extends LazaretError {
  override readonly name = 'StreamMismatchError'

  constructor(stream: string, problem: string) {
    super(`stream '${stream}': ${problem}; change the stream, or give the channel another name`, {
      code: 'LAZARET_TOPOLOGY_MISMATCH',
      retryable: false,
    })
  }
}

/** The stream is full and refuses new messages. */
export class StreamFullError extends LazaretError {
  override readonly name = 'StreamFullError'

  constructor(stream: string, description: string) {
    super(
      `stream '${stream}': ${description}; raise its limits, or publish again when consumers have caught up`,
      {
        code: 'LAZARET_BROKER_FULL',
        retryable: true,
      },
    )
  }
}

/** The server refuses the message because of its size. */
export class MessageTooLargeError extends LazaretError {
  override readonly name = 'MessageTooLargeError'

  constructor(stream: string, bytes: number) {
    super(
      `stream '${stream}': a message of about ${bytes} bytes is refused; send less, or raise max_payload of the server and max_msg_size of the stream`,
      { code: 'LAZARET_EVENT_INVALID', retryable: false },
    )
  }
}

/** The server did not confirm in time that we keep the order of a handler. Another consumer may keep it by now. */
export class LeaseExpiredError extends LazaretError {
  override readonly name = 'LeaseExpiredError'

  constructor(stream: string) {
    super(
      `stream '${stream}': the lease on the order has run out; check that NATS runs and that this machine can reach it`,
      { code: 'LAZARET_BROKER_UNREACHABLE', retryable: true },
    )
  }
}

/** Events that another consumer received are neither settled nor delivered again. */
export class EventsMissingError extends LazaretError {
  override readonly name = 'EventsMissingError'

  constructor(consumer: string, stream: string, count: number) {
    super(
      `consumer '${consumer}' of stream '${stream}': ${count} events are with another program, and the order by key waits for them; stop other programs that use this consumer`,
      { code: 'LAZARET_BROKER_UNREACHABLE', retryable: true },
    )
  }
}

/** A consumer skips messages: it is ahead of its stream, and this process may not make it again. */
export class ConsumerAheadError extends LazaretError {
  override readonly name = 'ConsumerAheadError'

  constructor(consumer: string, stream: string) {
    super(
      `consumer '${consumer}' is ahead of stream '${stream}', and skips messages: the stream counts from an earlier number again, or the consumer was made to begin later; delete the consumer and create it with deliver_policy 'all', or use declare: 'own'`,
      { code: 'LAZARET_TOPOLOGY_MISMATCH', retryable: false },
    )
  }
}
