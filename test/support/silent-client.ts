import { connect } from 'amqplib'
import type {
  AmqpChannel,
  AmqpClient,
  AmqpConnection,
  AmqpMessage,
} from '../../src/adapters/rabbitmq/connection/amqp.ts'

/** So few at once, so that the others of a small load wait on the server while these are swallowed. */
const MOST_PREFETCH = 3

/**
 * The client, with consumers that can be made silent: the server has handed messages over and counts them as such, its other
 * messages wait, and nothing arrives. It stands for a consumer that a server has forgotten without a word.
 */
export class SilentClient implements AmqpClient {
  readonly #consuming = new Map<string, Set<AmqpChannel>>()
  readonly #silent = new Map<string, Set<AmqpChannel>>()

  async connect(url: string, socketOptions?: Readonly<Record<string, unknown>>): Promise<AmqpConnection> {
    const connection = (await connect(url, socketOptions)) as unknown as AmqpConnection
    const createChannel = connection.createChannel.bind(connection)
    connection.createChannel = async () => this.#listenTo(await createChannel())
    return connection
  }

  /** Nothing more arrives from the queue on the channels there are. Later ones work. */
  silence(queue: string): void {
    this.#silent.set(queue, new Set(this.#consuming.get(queue)))
  }

  #listenTo(channel: AmqpChannel): AmqpChannel {
    const prefetch = channel.prefetch.bind(channel)
    const consume = channel.consume.bind(channel)
    channel.prefetch = count => prefetch(Math.min(count, MOST_PREFETCH))
    channel.consume = (queue, onMessage, options) => {
      const channels = this.#consuming.get(queue) ?? new Set()
      this.#consuming.set(queue, channels.add(channel))
      const receive = (message: AmqpMessage | null) => {
        if (!this.#silent.get(queue)?.has(channel)) onMessage(message)
      }
      return consume(queue, receive, options)
    }
    return channel
  }
}
