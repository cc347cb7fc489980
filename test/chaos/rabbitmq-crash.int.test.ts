import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { systemRandom } from '../../src/ports/system-clock.ts'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { RabbitmqOutside } from '../support/rabbitmq.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? '' : ` (skipped: ${found.why})`
const SCRIPT = fileURLToPath(new URL('rabbitmq-consumer.ts', import.meta.url))
const TIMEOUT_MS = 60_000

/** Runs the consumer until it dies, or until it gives up on what killed it. True when it died. */
async function dies(
  channel: string,
  queueType: string,
  handled: Set<string>,
  enough: number,
): Promise<boolean> {
  const child = spawn(process.execPath, [SCRIPT, server!.url, channel, queueType], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let hasGivenUp = false
  for await (const line of createInterface(child.stdout)) {
    if (line === 'gave up') hasGivenUp = true
    else if (line !== 'started') handled.add(line)
    if (hasGivenUp && handled.size >= enough) child.kill('SIGTERM')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.signalCode === 'SIGKILL'
}

describe.runIf(found.found)(`a consumer that is killed${why}`, () => {
  it.each(['quorum', 'classic'] as const)(
    'B8: on %s queues, what kills its process is in quarantine after 3 tries, and its neighbours are handled',
    { timeout: TIMEOUT_MS },
    async queueType => {
      const channel = uniqueName('deadly')
      const broker = rabbitmq({ url: server!.url, queueType })
      const make = createFactory({ random: systemRandom })
      const events = make.events(40, { channel })
      const deadly = make.event({ channel, type: 'deadly' })
      await broker.publish([...events.slice(0, 10), deadly, ...events.slice(10)])

      const handled = new Set<string>()
      let deaths = 0
      while (await dies(channel, queueType, handled, events.length)) {
        deaths++
        expect(deaths).toBeLessThan(10)
      }
      expect(deaths).toBe(3)
      expect([...handled].sort()).toEqual(events.map(({ id }) => id).sort())
      const outside = await RabbitmqOutside.at(server!.url)
      const [letter, ...others] = await outside.letters(`${channel}.dlq.quarantine.unknown`)
      expect(others).toEqual([])
      expect(letter).toMatchObject({
        event: deadly,
        state: 'quarantined',
        cycle: { reason: 'crash_loop', attemptCount: 3 },
      })
      const [message] = await outside.peek(`${channel}.dlq.quarantine.unknown`)
      expect(message?.properties.headers).toMatchObject({
        'lazaret-reason': 'crash_loop',
        'lazaret-attempts': 3,
      })
      expect(await outside.depth(`${channel}.dlq`)).toBe(0)
      expect(await outside.depth(channel)).toBe(0)
      expect(await outside.depth(`${channel}.suspects`)).toBe(0)
      await outside.close()
      await broker.close()
    },
  )
})
