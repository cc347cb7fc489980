import * as client from '@platformatic/kafka'

/** The client, whose writes to topics with this ending wait while the gate is closed. */
export function gateWritesTo(ending: string) {
  const produce = client.produceV9.api
  const heartbeat = client.consumerGroupHeartbeatV1.api
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  let isDead = false
  const requireAlive = () => {
    if (isDead) throw new Error('the process is dead')
  }
  const gated = {
    /** How many writes wait at the closed gate. */
    waiting: 0,
    close(): void {
      gate = Promise.withResolvers()
    },
    open(): void {
      gate.resolve()
    },
    /** Nothing more is written, and the group misses the consumer. */
    die(): void {
      isDead = true
      gate.resolve()
    },
    client: {
      ...client,
      produceV9: {
        api: {
          async: async (...args: Parameters<typeof produce.async>) => {
            if (args[3].some(({ topic }) => topic.endsWith(ending))) {
              gated.waiting++
              await gate.promise
              gated.waiting--
            }
            requireAlive()
            return await produce.async(...args)
          },
        },
      },
      consumerGroupHeartbeatV1: {
        api: {
          async: async (...args: Parameters<typeof heartbeat.async>) => {
            requireAlive()
            return await heartbeat.async(...args)
          },
        },
      },
    },
  }
  return gated
}
