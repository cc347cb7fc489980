import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { findRabbitmq } from '../../../test/services/rabbitmq.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { RabbitmqAdmin } from '../../../test/support/rabbitmq.ts'
import { onChannel } from '../../adapters/rabbitmq/broker/topology/declare.ts'
import { systemClock } from '../../ports/clock.ts'
import { TestTiming } from '../../testing/conformance/harness.ts'

const found = await findRabbitmq()
const isOurs = found.found && found.isPrivate
const server = isOurs ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = isOurs ? '' : ' (skipped: it needs a RabbitMQ of its own, to turn on the management plugin)'
const timing = new TestTiming({})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => probe.once('listening', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise(resolve => probe.close(resolve))
  return port
}

/** With the plugin that lists queues. */
async function withManagement(): Promise<string> {
  const node = server!.node!
  const port = await freePort()
  await node.stop()
  await node.configure(`{rabbitmq_management, [{tcp_config, [{ip, "127.0.0.1"}, {port, ${port}}]}]}`)
  await node.enablePlugin('rabbitmq_management')
  await node.start()
  return `http://127.0.0.1:${port}`
}

/** A message that another program sent and that expires at once, as if nobody had wanted it. */
async function bury(outside: RabbitmqAdmin): Promise<void> {
  await onChannel(outside.connection, async channel => {
    await channel.assertExchange('shop', 'topic', { durable: true })
    await channel.assertQueue('bills.dlq', { durable: true, arguments: {} })
    const args = {
      'x-message-ttl': 1,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': 'bills.dlq',
    }
    await channel.assertQueue('bills', { durable: true, arguments: args })
    await channel.bindQueue('bills', 'shop', 'bill.#')
  })
  const properties = { contentType: 'application/json', messageId: 'bill-1' }
  await outside.publish('shop', 'bill.sent', Buffer.from('{"bill":1}'), properties)
}

describe.runIf(isOurs)(`lazaret serve with a collector${why}`, () => {
  it('F8: finds queues by pattern, shows their letters, and a replay that fails comes back to its letter', async () => {
    const management = await withManagement()
    const outside = await RabbitmqAdmin.at(server!.url)
    await bury(outside)
    await withTempFolder(async cwd => {
      const config = [
        'store: sqlite:./lazaret.db',
        'replay: { maxAge: 24h }',
        'collectors:',
        '  rabbitmq:',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable as the config file has it
        '    url: ${AMQP_URL}',
        `    management: ${management}`,
        '    queues: ["*.dlq"]',
        '    pollInterval: 1s',
        '    handledAfter: 20s',
      ]
      await writeFile(join(cwd, 'lazaret.yaml'), config.join('\n'))
      const interrupt = new AbortController()
      const said = Promise.withResolvers<string>()
      const logged: string[] = []
      const stderr = {
        isTerminal: false,
        columns: undefined,
        async write(text: string) {
          const [url] = /http:\/\/127\S+/.exec(text) ?? []
          if (url !== undefined) said.resolve(url)
          if (text.startsWith('{')) logged.push(JSON.parse(text).what)
        },
      }
      const env = { AMQP_URL: server!.url }
      const io = { stderr, env, interrupted: interrupt.signal, clock: systemClock }
      const ran = cliWorld(cwd).lazaretWith(io, 'serve', '--port', '0')
      const home = await said.promise
      const ask = async (path: string, json?: unknown) => {
        const headers = { 'content-type': 'application/json', origin: home }
        const body = json === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(json) }
        let answer = await fetch(`${home}${path}`, body)
        // The server refuses requests that come too fast.
        while (answer.status === 429) answer = await fetch(`${home}${path}`, body)
        // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
        return (await answer.json()) as any
      }
      const letters = async () => (await ask('/api/v1/dead-letters')).letters
      await timing.eventually(async () => (await letters()).length === 1, 'collecting')
      const [letter] = await letters()
      expect(letter).toMatchObject({ channel: 'bills', reason: 'expired' })
      const whole = await ask(`/api/v1/dead-letters/${letter.id}`)
      expect(whole.origin).toMatchObject({ exchange: 'shop', routingKey: 'bill.sent', queue: 'bills' })
      expect(whole.destination).toMatchObject({ broker: 'rabbitmq' })

      const { id } = await ask('/api/v1/replays', { ids: [letter.id], reason: 'once more' })
      await ask(`/api/v1/replays/${id}/start`, {})
      const again = async () => (await ask(`/api/v1/dead-letters/${letter.id}`)).cycles.length === 2
      await timing.eventually(again, 'failing again')
      const counts = async () => (await ask(`/api/v1/replays/${id}`)).counts
      await timing.eventually(async () => (await counts()).failed_same_cause === 1, 'knowing the outcome')
      expect(await letters()).toHaveLength(1)
      // The queue was counted up to two seconds ago, when the letter may still have been a message in it.
      const health = () => ask('/healthz/consumer')
      await timing.eventually(async () => (await health()).dlqSize === 1, 'counting the queue anew')
      expect(await health()).toMatchObject({ status: 'UP', dlqSize: 1 })
      interrupt.abort()
      expect((await ran).code).toBe(0)
      expect(logged).toEqual([
        'collecting_began',
        'replay_running',
        expect.stringMatching(/^replay_(halted|finished)$/),
        'collecting_ended',
      ])
    })
    await outside.close()
  })
})
