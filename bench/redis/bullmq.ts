import { Queue, Worker } from 'bullmq'
import { perSecond } from '../harness/load.ts'
import { Meter } from '../harness/meter.ts'
import { BATCH, type Candidate, inBatches, PAYLOAD } from './candidate.ts'

const QUEUE = 'orders'
/** Higher values were not faster. */
const CONCURRENCY = 50

function connection(url: string) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

async function work(url: string, meter: Meter, handle: (attemptsMade: number) => void): Promise<number> {
  const worker = new Worker(QUEUE, async job => handle(job.attemptsMade), {
    connection: connection(url),
    concurrency: CONCURRENCY,
  })
  worker.on('error', () => {})
  worker.on('completed', meter.tick)
  worker.on('failed', meter.tick)
  const rate = await meter.rate()
  await worker.close()
  return rate
}

export const bullmq: Candidate = {
  async publish(url, count) {
    const queue = new Queue(QUEUE, { connection: connection(url) })
    await queue.waitUntilReady()
    const opts = { removeOnComplete: true, attempts: 2 }
    const batch = () =>
      queue.addBulk(Array.from({ length: BATCH }, () => ({ name: 'order.placed', data: PAYLOAD, opts })))
    const rate = await perSecond(count, () => inBatches(count, batch))
    await queue.close()
    return rate
  },
  process: (url, count) => work(url, new Meter(count), () => {}),
  failOnce: async (url, count) => {
    const rate = await work(url, new Meter(count * 2), attemptsMade => {
      if (attemptsMade === 0) throw new Error('the card was declined')
    })
    return rate / 2
  },
}
