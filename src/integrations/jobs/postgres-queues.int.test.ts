import { Logger, run as runGraphile, type TaskList } from 'graphile-worker'
import { type Job, PgBoss } from 'pg-boss'
import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../test/services/postgres.ts'
import { JobWorld } from '../../../test/support/job-world.ts'
import { TestDatabase } from '../../../test/support/postgres.ts'
import { graphileTasks, pgBossHandler } from './index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.empty(server))
afterAll(async () => {
  await database?.close()
  await server?.close()
})

interface Mail {
  readonly to: string
}

describe.runIf(found.found)(`pg-boss${found.found ? '' : ` (skipped: ${found.why})`}`, () => {
  it('E7: a batch whose tracking fails completes once; compliance work fails', async () => {
    const world = new JobWorld()
    const boss = new PgBoss({ connectionString: database!.url })
    boss.on('error', () => {})
    await boss.start()
    try {
      for (const queue of ['send-email', 'audit-export']) await boss.createQueue(queue)
      const ids = await Promise.all(
        ['ada', 'bob'].map(to => boss.send('send-email', { to }, { retryLimit: 3 })),
      )
      const audit = await boss.send('audit-export', { to: 'auditor' }, { retryLimit: 0 })
      const handle = async (jobs: Job<Mail>[]) => {
        for (const { data } of jobs) await world.work(data.to)
      }
      const onFailure = (job: string) => (job === 'audit-export' ? 'throw' : 'swallow')
      for (const queue of ['send-email', 'audit-export'])
        await boss.work<Mail>(
          queue,
          { batchSize: 10, pollingIntervalSeconds: 0.5 },
          pgBossHandler(handle, { onFailure }),
        )
      const stateOf = async (queue: string, id: string | null) =>
        (await boss.findJobs(queue, { id: id! }))[0]?.state
      await expect
        .poll(() => Promise.all(ids.map(id => stateOf('send-email', id))), { timeout: 60_000 })
        .toEqual(['completed', 'completed'])
      await expect.poll(() => stateOf('audit-export', audit), { timeout: 60_000 }).toBe('failed')
      expect(world.effects.toSorted()).toEqual(['ada', 'auditor', 'bob'])
      const letters = (await world.letters()).map(({ job, reason }) => `${job} ${reason}`)
      expect(letters.toSorted()).toEqual([
        'audit-export attempts_exhausted',
        'send-email tracking_failed_in_job',
        'send-email tracking_failed_in_job',
      ])
      expect(world.counters().swallowed).toEqual(['send-email', 'send-email'])
    } finally {
      await boss.stop({ graceful: false })
      await world.close()
    }
  })
})

describe.runIf(found.found)(`graphile-worker${found.found ? '' : ` (skipped: ${found.why})`}`, () => {
  it('E7: a task whose tracking fails completes once, with the name of its task', async () => {
    const world = new JobWorld()
    const taskList: TaskList = graphileTasks({
      send_email: async (payload: unknown) => {
        await world.work((payload as Mail).to)
      },
    })
    const runner = await runGraphile({
      connectionString: database!.url,
      concurrency: 2,
      noHandleSignals: true,
      crontab: '',
      logger: new Logger(() => () => {}),
      pollInterval: 100,
      taskList,
    })
    try {
      const completed: string[] = []
      runner.events.on('job:success', ({ job }) => completed.push(job.id))
      const failed: unknown[] = []
      runner.events.on('job:error', ({ error }) => failed.push(error))
      const { id } = await runner.addJob('send_email', { to: 'ada' }, { maxAttempts: 5 })
      await expect.poll(() => completed, { timeout: 60_000 }).toEqual([id])
      expect([failed, world.effects]).toEqual([[], ['ada']])
      expect(await world.letters()).toMatchObject([{ job: 'send_email', reason: 'tracking_failed_in_job' }])
      expect(world.counters()).toEqual({
        trackedInJob: ['send_email'],
        swallowed: ['send_email'],
        savedFromJob: ['send_email tracking_failed_in_job'],
      })
    } finally {
      await runner.stop()
      await world.close()
    }
  })
})
