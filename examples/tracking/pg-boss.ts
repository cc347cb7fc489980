import { pgBossHandler } from 'lazaret/jobs'
import { type Job, PgBoss } from 'pg-boss'
import { events } from './events.ts'
import { sendEmail } from './mail.ts'

const boss = new PgBoss('postgres://localhost/shop')
await boss.start()
await boss.createQueue('send-email')
await boss.work<{ to: string }>(
  'send-email',
  pgBossHandler(async (jobs: Job<{ to: string }>[]) => {
    for (const { data } of jobs) {
      await sendEmail(data.to)
      await events.track({ type: 'email.sent', payload: data })
    }
  }),
)
