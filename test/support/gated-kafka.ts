import * as client from '@platformatic/kafka'

const PRODUCE = 0
const OFFSET_COMMIT = 8

type Send = (...args: Parameters<client.Connection['send']>) => ReturnType<client.Connection['send']>

/** The client, whose writes to topics with this ending wait while the gate is closed. */
export function gateWritesTo(ending: string) {
  const heartbeat = client.consumerGroupHeartbeatV1.api
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  let isDead = false
  let isLate = false
  const requireAlive = () => {
    if (isDead) throw new Error('the process is dead')
  }
  const pass = async (isGated: boolean) => {
    if (isGated) {
      gated.waiting++
      await gate.promise
      gated.waiting--
      if (isLate) return
    }
    requireAlive()
  }
  const gateProduce = (connection: client.Connection) => {
    const send: Send = connection.send.bind(connection)
    const gatedSend: Send = (api, version, createRequest, ...rest) => {
      if (api !== PRODUCE && api !== OFFSET_COMMIT) return send(api, version, createRequest, ...rest)
      const passed = async () => {
        const request = await createRequest()
        await pass(api === PRODUCE && request.buffer.includes(ending))
        send(api, version, () => request, ...rest)
      }
      void passed().catch((error: Error) => rest[3](error, undefined))
    }
    connection.send = gatedSend as client.Connection['send']
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
    /** Nothing more is written or committed, and the group misses the consumer. */
    die(): void {
      isDead = true
      gate.resolve()
    },
    /** The same, but what waits at the gate is on its way: it arrives when the gate is opened. */
    dieWithWritesOnTheirWay(): void {
      isDead = true
      isLate = true
    },
    client: {
      ...client,
      ConnectionPool: class extends client.ConnectionPool {
        constructor(...args: ConstructorParameters<typeof client.ConnectionPool>) {
          super(...args)
          this.on('connecting', ({ connection }) => gateProduce(connection))
        }
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

/** The client, to which the group gives the partitions of this topic after all others. */
export function assigningLast(topicId: string) {
  const heartbeat = client.consumerGroupHeartbeatV1.api
  const async = async (...args: Parameters<typeof heartbeat.async>) => {
    const answer = await heartbeat.async(...args)
    answer.assignment?.topicPartitions.sort(
      (a, b) => Number(a.topicId === topicId) - Number(b.topicId === topicId),
    )
    return answer
  }
  return { ...client, consumerGroupHeartbeatV1: { api: { async } } }
}
