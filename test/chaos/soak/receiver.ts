import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Random } from '../../../src/core/random.ts'
import { REFUSED, UNAVAILABLE_SHARE } from './plan.ts'

export interface Receiver {
  readonly url: string
  close(): Promise<void>
}

/** The server behind the sink of all dispatchers. Now and then it is unavailable, and it refuses some events for good. */
export async function startReceiver(random: Random): Promise<Receiver> {
  const server = createServer((request, response) => {
    const answer = (status: number) => response.writeHead(status).end()
    json(request).then(
      body => answer(statusOf(body as ReceivedEvent | readonly ReceivedEvent[], random)),
      () => answer(400),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface ReceivedEvent {
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
}

function statusOf(body: ReceivedEvent | readonly ReceivedEvent[], random: Random): number {
  const events = [body].flat()
  if (events.some(({ type, headers }) => type === REFUSED && headers?.['x-replayed'] === undefined))
    return 400
  return random() < UNAVAILABLE_SHARE ? 503 : 204
}
