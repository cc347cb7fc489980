import { type Job, Queue, Worker } from 'bullmq'
import type { TrackInput } from 'lazaret'
import { bullmqProcessor } from 'lazaret/jobs'
import { events } from './events.ts'

const connection = { host: 'localhost', port: 6379 }
const tracking = new Queue('tracking', { connection })

/** Says that something happened. The work goes on as soon as the queue has it. */
export async function trackLater(input: TrackInput): Promise<void> {
  await tracking.add('Track', input, {
    priority: 100,
    attempts: 20,
    backoff: { type: 'exponential', delay: 1_000 },
    removeOnComplete: true,
  })
}

/** Does nothing but track. What became a dead letter is safe; only what nothing has kept goes back to the queue. */
export const worker = new Worker(
  'tracking',
  bullmqProcessor(async (job: Job<TrackInput>) => {
    const { sinks } = await events.track({ ...job.data, id: `tracking-${job.id}` })
    const isUnsaved = Object.values(sinks).some(({ outcome }) => outcome === 'unsaved')
    if (isUnsaved) throw new Error('neither tracked nor saved')
  }),
  { connection, concurrency: 2 },
)
