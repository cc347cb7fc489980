import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres } from '../../src/adapters/postgres/index.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { type SlackReceiver, slackReceiver } from '../receivers/slack.ts'
import { findPostgres } from '../services/postgres.ts'
import { LAZARET, type Started, startScript } from '../support/lazaret-process.ts'
import { make } from '../support/outbox-world.ts'
import { TestDatabase } from '../support/postgres.ts'

const LETTERS = 20
const timing = new TestTiming({ timeoutMs: 120_000 })
const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))

let folder: string
let slack: SlackReceiver
const servers: Started[] = []
/** Also after a failure: a connection that stays open would hold up the end of its server. */
const closing: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-servers-'))
  slack = await slackReceiver()
})
afterEach(async () => {
  for (const each of servers.splice(0)) await end(each, 'SIGKILL')
  for (const close of closing.splice(0)) await close()
})
afterAll(async () => {
  await slack.close()
  await database?.close()
  await server?.close()
  await rm(folder, { recursive: true })
})

async function end(process: Started, signal: NodeJS.Signals): Promise<void> {
  try {
    process.signal(signal)
  } catch {
    // It has ended.
  }
  await process.ended
}

/** Starts `lazaret serve` and returns it with its address. */
async function serve(): Promise<Started & { readonly url: string }> {
  const started = startScript(`exec ${LAZARET} serve --port 0`, folder, {
    STORE_URL: database!.url,
    SLACK_URL: slack.webhook,
  })
  servers.push(started)
  const [, url = ''] = await started.matches(/Lazaret listens on (\S+)/)
  return { ...started, url }
}

async function post(url: string, json: unknown): Promise<{ readonly id: string }> {
  const headers = { 'content-type': 'application/json', origin: new URL(url).origin }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(json) })
  expect(response.status, await response.clone().text()).toBeLessThan(300)
  return (await response.json()) as { readonly id: string }
}

const expiries = () =>
  database!.rows<{ at: Date; letters: number }>(
    `select at, (detail->>'letters')::int as letters from lazaret.audit where action = 'letters.expire' order by at`,
  )

describe.runIf(found.found)(
  `two servers on one Postgres${found.found ? '' : ` (skipped: ${found.why})`}`,
  { timeout: 300_000 },
  () => {
    it('F8, K7, K8, E13: one is killed, the other takes over, and nothing is done twice', async () => {
      const config = [
        // biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables as the config file has them
        'store: "${STORE_URL}"',
        'watch: { every: 1s, depth: 2, dominance: 1, calmAfter: 1 }',
        'retention: 1s',
        'cleanup: { cron: "* * * * *" }',
        'notify: { targets: { ops: { type: slack, url: "${SLACK_URL}" } } }',
        // biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables as the config file has them
      ]
      await writeFile(join(folder, 'lazaret.yaml'), config.join('\n'))
      const store = openPostgres({ pool: database!.pool })
      const handled: string[] = []
      let isBroken = true
      const consumer = createConsumer({
        broker: store.broker,
        channel: 'orders',
        deadLetters: store.deadLetters,
        leaveOpen: true,
        retry: { attempts: 1 },
        breaker: 'off',
        handle(event) {
          if (isBroken) throw new Error('the price is missing')
          handled.push(event.id)
        },
      })
      await consumer.start()
      closing.push(
        () => consumer.close(),
        () => store.close(),
      )

      const first = await serve()
      await first.says('collecting_began')
      const second = await serve()
      const events = Array.from({ length: LETTERS }, () => make.event({ channel: 'orders' }))
      await store.broker.publish(events)
      await timing.eventually(() => slack.messages.length >= 1, 'the alert')

      isBroken = false
      const plan = { filter: {}, reason: 'fixed', perSecond: 2, stages: ['rest'] }
      const { id } = await post(`${first.url}/api/v1/replays`, plan)
      await post(`${first.url}/api/v1/replays/${id}/start`, {})
      await timing.eventually(() => handled.length >= 3, 'the first replayed events')
      await end(first, 'SIGKILL')

      await second.says('collecting_began')
      await second.says('replay_running')
      await second.says('replay_finished')
      expect([...handled].sort()).toEqual(events.map(event => event.id).sort())
      await timing.eventually(() => slack.messages.length >= 2, 'the end of the alert')

      // Both servers clean up at the next minute, and closing waits for the run under way.
      const third = await serve()
      const deleted = async () => (await expiries()).reduce((sum, { letters }) => sum + letters, 0)
      await timing.eventually(async () => (await deleted()) >= LETTERS, 'the clean-up')
      await Promise.all([end(second, 'SIGTERM'), end(third, 'SIGTERM')])
      expect(await deleted()).toBe(LETTERS)
      const minutes = (await expiries()).map(({ at }) => Math.floor(at.getTime() / 60_000))
      expect(minutes).toEqual([...new Set(minutes)])
      expect(slack.messages.map(({ text }) => text)).toEqual([
        expect.stringMatching(/^Firing: Channel orders: \d+ dead letters waiting/),
        expect.stringMatching(/^Resolved: Channel orders: \d dead letters? waiting/),
      ])
    })
  },
)
