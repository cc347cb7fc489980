import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { pagerdutyReceiver } from '../receivers/pagerduty.ts'
import { withTempFolder } from '../support/folder.ts'
import { killAfter, outputOf, start } from './child.ts'

const PROCESS = fileURLToPath(new URL('./alerting-process.ts', import.meta.url))
const KILLS = 2

describe('a process that sends alerts', () => {
  it(`S7: killed ${KILLS} times, the process opens no second incident, and the run that ends well closes all incidents`, async () => {
    const receiver = await pagerdutyReceiver()
    await withTempFolder(async dir => {
      const run = (life: string) => start(PROCESS, receiver.enqueue, receiver.routingKey, dir, life)
      for (let life = 1; life <= KILLS; life++) await killAfter(run('open'), 3 * life)
      expect(receiver.alerts.map(({ key, isOpen }) => [key, isOpen])).toEqual(
        ['payments', 'stock', 'mail'].map(name => [`shop/breaker_opened/${name}`, true]),
      )
      await outputOf(run('end'))
      expect(receiver.alerts).toHaveLength(3)
      expect(receiver.alerts.filter(({ isOpen }) => isOpen)).toEqual([])
    })
    await receiver.close()
  })
})
