import { afterEach, describe, expect, it } from 'vitest'
import { delay, systemClock } from '../../src/ports/clock.ts'
import { findNats, type NatsService } from './nats.ts'
import { loadNatsClient, type NatsTestConnection } from './nats-node.ts'

const ANSWER_MS = 5_000

let service: NatsService | undefined
let connection: NatsTestConnection | undefined
afterEach(async () => {
  await connection?.close()
  await service?.close()
  connection = service = undefined
})

async function api(name: string, request: object = {}): Promise<Record<string, unknown>> {
  const answer = await connection!.request(`$JS.API.${name}`, JSON.stringify(request), { timeout: ANSWER_MS })
  return answer.json()
}

async function publish(text: string): Promise<void> {
  // A cluster that has lost its leader answers when it has a new one. On a busy machine, elections fail and begin again.
  for (let tries = 0; ; tries++) {
    try {
      await connection!.request('orders.new', text, { timeout: ANSWER_MS })
      return
    } catch (error) {
      if (tries === 5_000) throw error
      await delay(systemClock, 100)
    }
  }
}

for (const release of ['newest', 'oldest'] as const) {
  const nats = await findNats(release)
  const why = nats.found
    ? nats.isPrivate
      ? ''
      : ' (skipped: a given server is not stopped)'
    : ` (skipped: ${nats.why})`
  describe.skipIf(why !== '')(`NATS for tests, ${release} release${why}`, () => {
    it('E21: a server has what was written to it, also after a crash', async () => {
      service = nats.found ? await nats.start() : undefined
      connection = await (await loadNatsClient()).connect({
        servers: service!.url,
        reconnectTimeWait: 50,
        maxReconnectAttempts: -1,
      })
      await api('STREAM.CREATE.ORDERS', {
        name: 'ORDERS',
        subjects: ['orders.>'],
        storage: 'file',
        num_replicas: 1,
      })
      await publish('1')
      await service!.nodes[0]!.kill()
      await service!.nodes[0]!.start()
      await publish('2')
      expect(await api('STREAM.INFO.ORDERS')).toMatchObject({ state: { messages: 2 } })
    })

    // No other test starts a cluster of the oldest release. After a kill, its elections can go on for many minutes.
    it.runIf(release === 'newest')(
      'E21: a cluster of three keeps working when one server is killed',
      async () => {
        service = nats.found ? await nats.start({ nodes: 3 }) : undefined
        connection = await (await loadNatsClient()).connect({
          servers: service!.url.split(','),
          reconnectTimeWait: 50,
          maxReconnectAttempts: -1,
        })
        await api('STREAM.CREATE.ORDERS', {
          name: 'ORDERS',
          subjects: ['orders.>'],
          storage: 'file',
          num_replicas: 3,
        })
        await publish('1')
        await service!.nodes[0]!.kill()
        await publish('2')
        await expect
          .poll(() => api('STREAM.INFO.ORDERS').catch(() => undefined), { timeout: 30_000 })
          .toMatchObject({
            state: { messages: 2 },
          })
      },
    )
  })
}
