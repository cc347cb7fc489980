import { createClient } from 'redis'
import { perSecond } from '../harness/load.ts'
import { BATCH, type Candidate, inBatches, PAYLOAD } from './candidate.ts'

const STREAM = 'raw'
const GROUP = 'handler'
const TEXT = JSON.stringify(PAYLOAD)

async function withClient<T>(url: string, work: (client: ReturnType<typeof open>) => Promise<T>): Promise<T> {
  const client = open(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    client.destroy()
  }
}

function open(url: string) {
  return createClient({ url, RESP: 2 })
}

type Reply = [stream: string, entries: [id: string, fields: string[]][]][] | null

/** The plain commands: without attempt counts and retries, and a failed event is lost. */
export const raw: Candidate = {
  publish: (url, count) =>
    withClient(url, client => {
      const add = ['XADD', STREAM, '*', 'payload', TEXT]
      const batch = () => Promise.all(Array.from({ length: BATCH }, () => client.sendCommand(add)))
      return perSecond(count, () => inBatches(count, batch))
    }),
  process: (url, count) =>
    withClient(url, async client => {
      await client.sendCommand(['XGROUP', 'CREATE', STREAM, GROUP, '0', 'MKSTREAM'])
      const read = ['XREADGROUP', 'GROUP', GROUP, 'me', 'COUNT', String(BATCH), 'STREAMS', STREAM, '>']
      const handle = async (_fields: readonly string[]) => {}
      return await perSecond(count, async () => {
        for (let done = 0; done < count; ) {
          const reply = (await client.sendCommand(read)) as unknown as Reply
          const entries = reply?.[0]?.[1] ?? []
          for (const [, fields] of entries) await handle(fields)
          await client.sendCommand(['XACK', STREAM, GROUP, ...entries.map(([id]) => id)])
          done += entries.length
        }
      })
    }),
}
