import { afterAll, describe, expect, it } from 'vitest'
import { findRabbitmq } from '../../../test/services/rabbitmq.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { RabbitmqAdmin } from '../../../test/support/rabbitmq.ts'
import { onChannel } from '../../adapters/rabbitmq/broker/topology/declare.ts'
import { systemClock } from '../../ports/clock.ts'
import { TestTiming, uniqueName } from '../../testing/conformance/harness.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
const outside = server && (await RabbitmqAdmin.at(server.url))
afterAll(async () => {
  await outside?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`
const { lazaretWith } = cliWorld()
const lazaret = (...argv: readonly string[]) =>
  lazaretWith({ clock: systemClock, env: { LAZARET_AMQP_URL: server?.url } }, ...argv)

describe.runIf(found.found)(`lazaret rabbitmq${why}`, () => {
  it('F3: declares a queue with all that lies beside it, as often as one likes, and tells its status', async () => {
    const queue = uniqueName('orders')
    expect((await lazaret('rabbitmq', 'status', queue)).err).toContain(`lazaret rabbitmq declare ${queue}`)
    const { code, json } = await lazaret('rabbitmq', 'declare', queue, '--json')
    expect(code).toBe(0)
    expect(json[0].declared).toContain(`${queue}.retry.5s`)
    expect((await lazaret('rabbitmq', 'declare', queue)).code).toBe(0)
    await outside!.publish('', queue, Buffer.from('1'))
    const headers = { 'lazaret-last-failed-at': '2026-01-31T12:00:00.000Z' }
    await outside!.publish(`${queue}.dlx`, queue, Buffer.from('1'), { headers })
    await outside!.publish(`${queue}.dlx`, `${queue}.quarantine.schema`, Buffer.from('1'))
    const status = await lazaret('rabbitmq', 'status', queue, '--json')
    expect(status.json).toEqual([
      {
        queue,
        exists: true,
        ready: 1,
        consumers: 0,
        waiting: 0,
        suspects: 0,
        deadLetters: 1,
        byCategory: { transient: 0, schema: 0, business: 0, integration: 0, unknown: 0 },
        quarantined: 1,
        oldestLetterAt: '2026-01-31T12:00:00.000Z',
      },
    ])
    // Messages that were read go back to the queue when their channel ends.
    const isBack = async () => (await outside!.depth(`${queue}.dlq`)) === 1
    await new TestTiming({}).eventually(isBack, 'the letter is where it was')
  })

  it('K2, R5: declares the dead-letter queues of the categories, and counts what is in them', async () => {
    const queue = uniqueName('orders')
    const flag = ['--dead-letter-queues', 'by-category']
    const { json } = await lazaret('rabbitmq', 'declare', queue, ...flag, '--json')
    expect(json[0].declared).toContain(`${queue}.dlq.schema`)
    const failedAt = (at: string) => ({ headers: { 'lazaret-last-failed-at': at } })
    const send = (key: string, at: string) =>
      outside!.publish(`${queue}.dlx`, key, Buffer.from('1'), failedAt(at))
    await send(queue, '2026-02-02T12:00:00.000Z')
    await send(`${queue}.schema`, '2026-01-31T12:00:00.000Z')
    await send(`${queue}.schema`, '2026-02-01T12:00:00.000Z')
    await send(`${queue}.unknown`, '2026-02-03T12:00:00.000Z')
    const status = await lazaret('rabbitmq', 'status', queue, '--json')
    expect(status.json).toMatchObject([
      {
        deadLetters: 4,
        byCategory: { transient: 0, schema: 2, business: 0, integration: 0, unknown: 1 },
        quarantined: 0,
        oldestLetterAt: '2026-01-31T12:00:00.000Z',
      },
    ])
  })

  it('R15: declares and counts dead-letter queues of another name', async () => {
    const queue = uniqueName('orders')
    const flag = ['--dead-letter-queue', 'failed.{queue}']
    const { json } = await lazaret('rabbitmq', 'declare', queue, ...flag, '--json')
    expect(json[0].declared).toContain(`failed.${queue}.quarantine.schema`)
    await outside!.publish(`${queue}.dlx`, queue, Buffer.from('1'))
    await outside!.publish(`${queue}.dlx`, `${queue}.quarantine.schema`, Buffer.from('1'))
    const status = await lazaret('rabbitmq', 'status', queue, ...flag, '--json')
    expect(status.json).toMatchObject([{ deadLetters: 1, quarantined: 1 }])
    const wrong = await lazaret('rabbitmq', 'status', queue, '--dead-letter-queue', '{queue}')
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("such as '{queue}.failed'") })
  })

  it('F3: a queue that is there and different is told of in one line; the others are declared', async () => {
    const [other, queue] = [uniqueName('other'), uniqueName('orders')]
    await onChannel(outside!.connection, channel =>
      channel.assertQueue(other, { durable: true, arguments: { 'x-message-ttl': 60_000 } }),
    )
    const { code, out, err } = await lazaret('rabbitmq', 'declare', other, queue)
    expect(code).toBe(3)
    expect(out).toContain(`${queue}: `)
    expect(err).toMatch(
      new RegExp(`^queue '${other}': exists with x-.*, but Lazaret declares .*; keep the queue`),
    )
    expect(err.trim().split('\n')).toHaveLength(1)
  })

  it('F7: a wrong password and a dead server are one line each, without the password', async () => {
    const wrong = new URL(server!.url)
    wrong.password = 'hunter2'
    const refused = await lazaret('rabbitmq', 'status', 'orders', '--url', wrong.href)
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('check user, password, vhost')])
    const dead = await lazaret('rabbitmq', 'status', 'orders', '--url', 'amqp://guest:hunter2@127.0.0.1:9')
    expect([dead.code, dead.err]).toEqual([1, expect.stringContaining('ECONNREFUSED')])
    expect(refused.err + dead.err).not.toContain('hunter2')
  })
})
