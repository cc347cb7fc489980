import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { pagerduty } from '../../src/adapters/sinks/index.ts'
import { createNotifier } from '../../src/integrations/notify/index.ts'

// Tells of breakers that open, over and over, until it is killed; or, told to end, that all of them closed.
const [url = '', routingKey = '', dir = '', life = 'open'] = process.argv.slice(2)
const BREAKERS = ['payments', 'stock', 'mail']
const notifier = createNotifier({
  to: { pager: pagerduty({ url, routingKey }) },
  deadLetters: fileDeadLetters({ dir }),
  repeatMs: 1,
  perMinute: 1_000,
  service: 'shop',
})

for (;;) {
  for (const name of BREAKERS) await notifier.notify({ kind: 'breaker_opened', at: 0, name })
  await notifier.flush()
  process.stdout.write('report\n')
  if (life !== 'open') break
}
for (const name of BREAKERS) await notifier.notify({ kind: 'breaker_closed', at: 0, name })
await notifier.close()
