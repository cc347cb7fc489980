import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findKafka, type KafkaService } from '../../../test/services/kafka.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { OutsideKafka } from '../../../test/support/outside-kafka.ts'
import { systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const found = await findKafka()
const why = found.found ? '' : ` (skipped: ${found.why})`

let server: KafkaService
let outside: OutsideKafka
beforeAll(async () => {
  if (!found.found) return
  server = await found.start()
  outside = new OutsideKafka(server.brokers)
})
afterAll(async () => {
  await outside?.close()
  await server?.close()
})

const { lazaretWith } = cliWorld()
const url = () => `kafka://${server.brokers.join(',')}`
const lazaret = (...argv: readonly string[]) =>
  lazaretWith({ clock: systemClock, env: { LAZARET_KAFKA_URL: url() } }, ...argv)

const record = (topic: string) => ({ topic, partition: 0, key: null, value: Buffer.from('1'), headers: [] })

describe.runIf(found.found)(`lazaret kafka${why}`, () => {
  it('F8: creates the topics of a handler, as often as one likes, and shows lag, waiting events and dead letters', async () => {
    const channel = uniqueName('orders')
    const none = await lazaret('kafka', 'status', channel)
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining(`lazaret kafka declare ${channel}`) })
    const declare = ['kafka', 'declare', channel, '--handler', 'bill', '--partitions', '2', '--ordered']
    const { code, json } = await lazaret(...declare, '--json')
    expect(code).toBe(0)
    expect(json[0].declared).toEqual(
      expect.arrayContaining([
        channel,
        `${channel}.bill.retry.5s`,
        `${channel}.bill.dlq`,
        `${channel}.bill.held`,
      ]),
    )
    await outside.write([record(channel), record(channel), record(`${channel}.bill.retry.5s`)])
    await outside.write([record(`${channel}.bill.dlq`)])
    // Declaring again leaves the handler where it is.
    expect((await lazaret(...declare)).out).toContain(`${channel}: `)
    const status = await lazaret('kafka', 'status', '--json')
    expect(status.json.filter((each: { channel: string }) => each.channel === channel)).toEqual([
      {
        channel,
        handler: 'bill',
        group: `${channel}.bill`,
        partitions: 2,
        consumers: 0,
        lag: 2,
        waiting: 1,
        deadLetters: 1,
      },
    ])
    expect((await lazaret('kafka', 'status', channel)).out).toMatch(/LAG +WAITING +DEAD/)
  })

  it('F8: declares other names, and says in one line what it cannot create', async () => {
    const channel = uniqueName('orders')
    const names = ['--dead-letter-topic', 'failed.{group}']
    const { json } = await lazaret('kafka', 'declare', channel, ...names, '--json')
    expect(json[0].declared).toContain(`failed.${channel}.${channel}`)
    const many = await lazaret('kafka', 'declare', uniqueName('orders'), '--replication-factor', '9')
    expect(many.code).toBe(1)
    expect(many.err.trim().split('\n')).toHaveLength(1)
    const wrong = await lazaret('kafka', 'status', '--dead-letter-topic', 'failed')
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('{group}') })
  })

  it('F7: a dead server is one line, without the password', async () => {
    const dead = await lazaret('kafka', 'status', '--url', 'kafka://ann:hunter2@127.0.0.1:9')
    expect([dead.code, dead.err]).toEqual([1, expect.stringContaining('ECONNREFUSED')])
    expect(dead.err).not.toContain('hunter2')
  })

  it('F8: the doctor reports settings of topics that lose letters', async () => {
    const channel = uniqueName('orders')
    await lazaret('kafka', 'declare', channel, '--handler', 'bill', '--partitions', '1')
    await outside.createTopic(`${channel}.ship.dlq`, 2, { 'retention.ms': '60000' })
    await withTempFolder(async cwd => {
      const config = `store: 'memory:'\nbrokers: { kafka: { url: "${url()}" } }\n`
      await writeFile(join(cwd, 'lazaret.yaml'), config)
      const { code, json } = await cliWorld(cwd).lazaretWith({ clock: systemClock }, 'doctor', '--json')
      expect(code).toBe(1)
      const of = (topic: string) =>
        json[0].checks.filter((each: { name: string; found: string }) => each.found.includes(topic))
      expect(of(`${channel}.bill.dlq`)).toEqual([
        expect.objectContaining({ status: 'warn', found: expect.stringContaining('1 replica') }),
      ])
      expect(of(`${channel}.ship.dlq`)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ status: 'fail', remedy: expect.stringContaining('--partitions 2') }),
          expect.objectContaining({ status: 'fail', remedy: expect.stringContaining('retention.ms=-1') }),
        ]),
      )
    })
  })
})
