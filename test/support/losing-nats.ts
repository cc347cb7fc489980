import { connect } from '@nats-io/transport-node'
import type { NatsConnection } from '../../src/adapters/nats/connection/client.ts'

/** The client, whose messages with such a subject are lost from `startLosing` to `stopLosing`. */
export function losingMessages(isLost: (subject: string) => boolean) {
  let isLosing = false
  const link = {
    /** How many messages were lost. */
    lost: 0,
    startLosing(): void {
      isLosing = true
    },
    stopLosing(): void {
      isLosing = false
    },
    client: {
      async connect(options: object): Promise<NatsConnection> {
        const connection = (await connect(options)) as unknown as NatsConnection
        const publish = connection.publish.bind(connection)
        connection.publish = (subject, ...rest) => {
          if (isLost(subject) && isLosing) link.lost++
          else publish(subject, ...rest)
        }
        return connection
      },
    },
  }
  return link
}
