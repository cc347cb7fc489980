import { Queue, QueueEvents, UnrecoverableError, Worker } from 'bullmq'
import { afterAll, describe, expect, it } from 'vitest'
import { findRedis } from '../../../test/services/redis.ts'
import { JobWorld } from '../../../test/support/job-world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { bullmqProcessor } from './index.ts'

const found = await findRedis()
const server = found.found ? await found.start() : undefined
afterAll(() => server?.close())

/** A queue with a worker whose jobs do their work in a world where tracking fails. */
async function inQueue(run: (queue: Queue, events: QueueEvents, world: JobWorld) => Promise<void>) {
  const world = new JobWorld()
  const { hostname: host, port } = new URL(server!.url)
  const connection = { host, port: Number(port), maxRetriesPerRequest: null }
  const name = uniqueName('emails')
  const queue = new Queue(name, { connection })
  const events = new QueueEvents(name, { connection })
  await events.waitUntilReady()
  const processor = bullmqProcessor(
    async (job: { readonly name: string; readonly data: { readonly to: string } }) => {
      try {
        return await world.work(job.data.to)
      } catch (error) {
        throw job.name === 'AuditExport' ? new UnrecoverableError(String(error)) : error
      }
    },
    { onFailure: job => (job === 'AuditExport' ? 'throw' : 'swallow') },
  )
  const worker = new Worker(name, processor, { connection, concurrency: 10 })
  try {
    await run(queue, events, world)
  } finally {
    await worker.close()
    await events.close()
    await queue.obliterate({ force: true })
    await queue.close()
    await world.close()
  }
}

describe.runIf(found.found)(`BullMQ${found.found ? '' : ` (skipped: ${found.why})`}`, () => {
  it('E7: a job whose tracking fails completes once, its effect happens once, the event is in the DLQ', async () => {
    await inQueue(async (queue, events, world) => {
      const job = await queue.add('SendEmailJob', { to: 'ada' }, { attempts: 5 })
      expect(await job.waitUntilFinished(events)).toBe('done ada')
      const { attemptsMade } = (await queue.getJob(job.id!))!
      expect([attemptsMade, await queue.getJobCountByTypes('completed')]).toEqual([1, 1])
      expect(await queue.getJobCountByTypes('failed', 'delayed', 'waiting', 'active')).toBe(0)
      expect(world.effects).toEqual(['ada'])
      expect(await world.letters()).toEqual([
        {
          job: 'SendEmailJob',
          reason: 'tracking_failed_in_job',
          handler: 'loki',
          payload: { effect: 'ada' },
        },
      ])
      expect(world.counters()).toEqual({
        trackedInJob: ['SendEmailJob'],
        swallowed: ['SendEmailJob'],
        savedFromJob: ['SendEmailJob tracking_failed_in_job'],
      })
    })
  })

  it('E7: compliance work fails without its event, and the event is still in the DLQ', async () => {
    await inQueue(async (queue, events, world) => {
      const job = await queue.add('AuditExport', { to: 'auditor' }, { attempts: 5 })
      await expect(job.waitUntilFinished(events)).rejects.toThrow('was not tracked')
      expect(await queue.getJobCountByTypes('failed')).toBe(1)
      expect(await world.letters()).toMatchObject([{ job: 'AuditExport', reason: 'attempts_exhausted' }])
      expect(world.counters().swallowed).toEqual([])
    })
  })

  it('E7: jobs that run at once keep their own names', async () => {
    await inQueue(async (queue, events, world) => {
      const names = Array.from({ length: 20 }, (_, n) => `Job${n % 4}`)
      const completed = new Set<string>()
      const allCompleted = new Promise<void>(resolve =>
        events.on('completed', ({ jobId }) => {
          if (completed.add(jobId).size === names.length) resolve()
        }),
      )
      await queue.addBulk(names.map((name, n) => ({ name, data: { to: `${name}/${n}` } })))
      await allCompleted
      for (const { job, payload } of await world.letters())
        expect((payload as { effect: string }).effect.startsWith(`${job}/`)).toBe(true)
      expect((await world.letters()).length).toBe(20)
    })
  })
})
