import { run, type TaskList } from 'graphile-worker'
import { graphileTasks } from 'lazaret/jobs'
import { events } from './events.ts'
import { sendEmail } from './mail.ts'

const taskList: TaskList = graphileTasks({
  send_email: async (payload: unknown) => {
    const { to } = payload as { to: string }
    await sendEmail(to)
    await events.track({ type: 'email.sent', payload: { to } })
  },
})
export const runner = await run({ connectionString: 'postgres://localhost/shop', taskList })
