import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { slackReceiver } from '../../../test/receivers/slack.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { memoryStore } from '../../adapters/memory/index.ts'
import { systemClock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { TestTiming } from '../../testing/conformance/harness.ts'
import { createFactory } from '../../testing/factories.ts'

const timing = new TestTiming({})

/** Runs `lazaret serve` in a folder until it is stopped. */
async function serving(cwd: string, store: Store, webhook: string) {
  const interrupt = new AbortController()
  const listening = Promise.withResolvers<void>()
  let said = ''
  const stderr = {
    isTerminal: false,
    columns: undefined,
    async write(text: string) {
      said += text
      if (text.includes('Lazaret listens on')) listening.resolve()
    },
  }
  const io = {
    stderr,
    env: { SLACK_URL: webhook },
    interrupted: interrupt.signal,
    clock: systemClock,
    openStore: async () => ({ ...store, close: async () => {} }),
  }
  const ran = cliWorld(cwd).lazaretWith(io, 'serve', '--port', '0')
  // A fault in the config ends it before it listens.
  await Promise.race([listening.promise, ran.then(() => Promise.reject(new Error(said)))])
  return async () => {
    interrupt.abort()
    expect((await ran).code).toBe(0)
  }
}

describe('lazaret serve with watch and notify', () => {
  it('S7, K7: a channel over its limit is told to Slack, and its end too, be it by the server after it', async () => {
    const receiver = await slackReceiver()
    const store = memoryStore()
    const make = createFactory({ clock: systemClock })
    const letters = Array.from({ length: 3 }, () => make.letter({ channel: 'orders' }))
    await withTempFolder(async cwd => {
      const config = [
        'store: "memory:"',
        'watch: { every: 1s, depth: 2, dominance: 1, calmAfter: 1 }',
        'notify:',
        '  service: shop',
        '  consoleUrl: https://lazaret.example',
        '  targets:',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable as the config file has it
        '    ops: { type: slack, url: "${SLACK_URL}" }',
      ]
      await writeFile(join(cwd, 'lazaret.yaml'), config.join('\n'))
      const heard = (count: number) =>
        timing.eventually(() => receiver.messages.length === count, `message ${count}`)
      const stop = await serving(cwd, store, receiver.webhook)
      for (const letter of letters) await store.deadLetters.send(letter)
      await heard(1)
      await stop()

      const stopNext = await serving(cwd, store, receiver.webhook)
      await store.deadLetters.change(letters[0]!.id, { to: 'discarded', at: systemClock.now() })
      await heard(2)
      await stopNext()
    })
    expect(receiver.messages.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^Firing: Channel orders: 3 dead letters waiting/),
      expect.stringMatching(/^Resolved: Channel orders: 2 dead letters waiting\. Recovered\./),
    ])
    expect(JSON.stringify(receiver.messages[0]!.blocks)).toContain(
      'https://lazaret.example/letters?channel=orders',
    )
    await store.close()
    await receiver.close()
  })
})
