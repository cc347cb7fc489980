import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { rabbitmq } from '../index.ts'

it('E10: a broker that is closed while a server does not answer keeps no connection, and so no process, open', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const broker = rabbitmq({ url: `amqp://127.0.0.1:${port}` })
  const asked = broker.subscribe(
    { channel: 'orders', handler: 'bill', prefetch: 1, ordering: 'none' },
    () => {},
  )
  const [socket] = (await once(server, 'connection')) as [Socket]
  socket.on('error', () => {}).resume()
  await broker.close()
  await expect(asked).rejects.toMatchObject({ code: 'LAZARET_BROKER_CLOSED' })
  await once(socket, 'close')
  server.close()
})
