import { type Job, Worker } from 'bullmq'
import { bullmqProcessor } from 'lazaret/jobs'
import { events } from './events.ts'
import { sendEmail } from './mail.ts'

export const worker = new Worker(
  'emails',
  bullmqProcessor(async (job: Job<{ to: string }>) => {
    await sendEmail(job.data.to)
    await events.track({ type: 'email.sent', payload: job.data })
  }),
  { connection: { host: 'localhost', port: 6379 } },
)
