import { afterAll, describe, expect, it } from 'vitest'
import { withAdmin } from '../../src/adapters/rabbitmq/admin.ts'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { RabbitmqAdmin } from '../support/rabbitmq.ts'
import { ChaosProxy } from './proxy.ts'
import { rabbitmqTraffic, SLOW_DETECTION } from './rabbitmq-traffic.ts'
import type { Traffic } from './traffic.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? '' : ` (skipped: ${found.why})`

/** Nothing was given up on, and what is still there are second copies of what was handled. */
async function expectNothingLost({ channel, handled, missing }: Traffic): Promise<void> {
  const outside = await RabbitmqAdmin.at(server!.url)
  const copies = [...(await outside.peek(channel)), ...(await outside.peek(`${channel}.suspects`))]
  const letters = await outside.depth(`${channel}.dlq`)
  await outside.close()
  expect(missing).toBe(0)
  expect(letters).toBe(0)
  expect(copies.map(({ properties }) => properties.messageId).filter(id => !handled.has(id ?? ''))).toEqual(
    [],
  )
}

describe.runIf(found.found)(`RabbitMQ over a failing network${why}`, () => {
  it('E21: cut connections lose no event', async () => {
    const proxy = await ChaosProxy.to(server!.url)
    const traffic = rabbitmqTraffic(uniqueName('cut'), proxy.through(server!.url))
    await traffic.start()
    const publishing = traffic.publish(3_000)
    for (let cuts = 1; cuts <= 6; cuts++) {
      await traffic.until(() => traffic.handled.size > cuts * 350, 'traffic')
      proxy.cut()
    }
    await publishing
    await traffic.until(() => traffic.missing === 0, 'handling them all')
    await traffic.close()
    await expectNothingLost(traffic)
    await proxy.close()
  })

  it('E21: a hanging connection is detected and replaced, and no event is lost', async () => {
    const proxy = await ChaosProxy.to(server!.url)
    const traffic = rabbitmqTraffic(uniqueName('hang'), proxy.through(server!.url))
    await traffic.start()
    const publishing = traffic.publish(1_000)
    await traffic.until(() => traffic.handled.size > 200, 'traffic')
    proxy.halfOpen()
    await publishing
    await traffic.until(() => traffic.missing === 0, 'handling them all')
    await traffic.close()
    await expectNothingLost(traffic)
    await proxy.close()
  })

  it('E21: a slow network only adds delay', async () => {
    const proxy = await ChaosProxy.to(server!.url)
    proxy.latencyMs = 20
    proxy.bytesPerSecond = 200_000
    const traffic = rabbitmqTraffic(uniqueName('slow'), proxy.through(server!.url), SLOW_DETECTION)
    await traffic.start()
    await traffic.publish(500)
    await traffic.until(() => traffic.missing === 0, 'handling them all')
    expect(traffic.duplicates).toBe(0)
    await traffic.close()
    await proxy.close()
  })
})

const isOurs = found.found && found.isPrivate
const whyNot = isOurs ? '' : ' (skipped: the server is not ours to stop)'

describe.runIf(isOurs)(`RabbitMQ that stops${why || whyNot}`, () => {
  it('E21: a killed server and a stopped server lose no event', async () => {
    const node = server!.node!
    const channel = uniqueName('restart')
    // Long before: the server of Debian 12 can forget who leads a quorum queue that was declared right before a kill.
    await withAdmin({ url: server!.url }, admin => admin.declare(channel, channel))
    await node.stop()
    await node.start()
    const traffic = rabbitmqTraffic(channel, server!.url)
    await traffic.start()
    const publishing = traffic.publish(1_500)
    await traffic.until(() => traffic.handled.size > 300, 'traffic')
    await node.kill()
    await node.start()
    await traffic.until(() => traffic.handled.size > 750, 'traffic after the first restart')
    await node.stop()
    await node.start()
    await publishing
    await traffic.until(() => traffic.missing === 0, 'handling them all')
    await traffic.close()
    await expectNothingLost(traffic)
  })
})
