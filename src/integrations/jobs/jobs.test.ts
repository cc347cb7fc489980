import { describe, expect, it } from 'vitest'
import { trackingScope } from '../../runtime/dispatcher/track/tracking-mode.ts'
import { bullmqProcessor, graphileTask, graphileTasks, pgBossHandler } from './index.ts'

const scopeLater = async () => {
  await new Promise<void>(resolve => queueMicrotask(resolve))
  return trackingScope()
}

describe('job integrations', () => {
  it('E7: run each job under its own name, and hand on everything they are given', async () => {
    const processor = bullmqProcessor(async (job: { name: string }, token?: string) => ({
      job,
      token,
      scope: await scopeLater(),
    }))
    const job = { name: 'SendEmailJob' }
    const scope = { context: 'job', job: 'SendEmailJob', onFailure: undefined }
    expect(await processor(job, 'token-1')).toEqual({ job, token: 'token-1', scope })

    const handler = pgBossHandler(async (jobs: { name: string }[], tx: string) => [
      jobs.length,
      tx,
      (await scopeLater()).job,
    ])
    expect(await handler([{ name: 'mails' }, { name: 'mails' }], 'tx')).toEqual([2, 'tx', 'mails'])
    expect(await handler([], 'tx')).toEqual([0, 'tx', undefined])

    const helpers = { job: { task_identifier: 'send_email' } }
    const task = graphileTask(async (payload: string) => [payload, (await scopeLater()).job])
    expect(await task('ada', helpers)).toEqual(['ada', 'send_email'])
    type Helpers = typeof helpers
    const { a, b } = graphileTasks({
      a: (_: unknown, __: Helpers) => trackingScope().job,
      b: (payload: number, { job }: Helpers) => [payload, job.task_identifier],
    })
    expect([a(undefined, helpers), b(1, helpers)]).toEqual(['send_email', [1, 'send_email']])
  })

  it('E7: say per job what becomes of a failure to track', async () => {
    const onFailure = (name: string) => (name === 'AuditExport' ? 'throw' : 'swallow')
    const processor = bullmqProcessor(scopeLater, { onFailure })
    expect((await processor({ name: 'AuditExport' })).onFailure).toBe('throw')
    expect((await processor({ name: 'SendEmailJob' })).onFailure).toBe('swallow')
    expect((await bullmqProcessor(scopeLater, { onFailure: 'throw' })({ name: 'x' })).onFailure).toBe('throw')
    expect(() => bullmqProcessor(scopeLater, { onFailure: 'ignore' as never })).toThrow(
      /bullmqProcessor\.onFailure.*'swallow', 'throw'/s,
    )
  })

  it('E7: a name that the queue allows fails no job', async () => {
    const processor = bullmqProcessor(scopeLater)
    expect((await processor({ name: '' })).job).toBe('unnamed')
    expect((await processor({ name: 'x'.repeat(500) })).job).toHaveLength(200)
  })
})
