import { expect, it } from 'vitest'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { ChaosProxy } from '../chaos/proxy.ts'
import { rabbitmqTraffic } from '../chaos/rabbitmq-traffic.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { RabbitmqAdmin } from '../support/rabbitmq.ts'
import { topology } from './topology.ts'

const found = await findRabbitmq()

topology('three RabbitMQ nodes behind a load balancer', found, () => {
  it('E21: a node that is killed and stays away loses no event, and its return changes nothing', async () => {
    if (!found.found) return
    const server = await found.start()
    const [first, second] = server.nodes
    const proxy = await ChaosProxy.to(first!.url)
    const traffic = rabbitmqTraffic(uniqueName('cluster'), proxy.through(first!.url))
    await traffic.start()
    const publishing = traffic.publish(3_000)
    await traffic.until(() => traffic.handled.size > 600, 'traffic')

    await first!.kill()
    proxy.lead(second!.url)
    proxy.cut()
    await traffic.until(() => traffic.handled.size > 1_800, 'traffic on the second node')
    await first!.start()
    await publishing
    await traffic.until(() => traffic.missing === 0, 'handling them all')
    await traffic.close()

    const outside = await RabbitmqAdmin.at(second!.url)
    expect(traffic.missing).toBe(0)
    expect(await outside.depth(`${traffic.channel}.dlq`)).toBe(0)
    await outside.close()
    await proxy.close()
    await server.close()
  })
})
