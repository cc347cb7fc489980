import { events } from './events.ts'

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    await events.close({ graceMs: 5_000 })
    process.exit()
  })
