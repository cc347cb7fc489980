import { createClient } from 'redis'
import type { RedisClient } from '../../src/adapters/redis/index.ts'

/** A client that calls `onCall` with the number of each call to the server, before it. */
export async function countedClient(
  url: string,
  onCall: (call: number) => void,
): Promise<{ readonly client: RedisClient; close(): Promise<void> }> {
  const client = createClient({ url })
  client.on('error', () => {})
  await client.connect()
  const send = client.sendCommand.bind(client)
  let calls = 0
  client.sendCommand = async (...args: Parameters<typeof send>) => {
    onCall(++calls)
    return send(...args) as never
  }
  return { client, close: async () => client.destroy() }
}
