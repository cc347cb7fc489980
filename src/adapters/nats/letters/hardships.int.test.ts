import { describe, expect, it } from 'vitest'
import { losingMessages } from '../../../../test/support/losing-nats.ts'
import { createNatsWorld, eventually } from '../../../../test/support/nats-world.ts'
import { systemClock } from '../../../ports/clock.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import { ADVISORY_STREAM, ADVISORY_SUBJECT } from './advisories.ts'
import { natsCollector } from './collector.ts'
import type { NatsCollectorOptions } from './options.ts'

const { service, outside, why } = await createNatsWorld()

async function createStream(): Promise<string> {
  const name = uniqueName('DLQ')
  await outside.jetstream.createStream({ name, subjects: [`${name}.>`] })
  return name
}

async function publish(stream: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await outside.publishJson(`${stream}.any`, Buffer.from(JSON.stringify(uniqueName('payload'))))
}

/** A collector that has begun, and its letters. */
function collecting(options: Partial<NatsCollectorOptions>) {
  const store = memoryDeadLetters()
  const errors: unknown[] = []
  const collector = natsCollector({
    url: service!.url,
    name: uniqueName('nats'),
    pollIntervalMs: 20,
    onError: error => errors.push(error),
    ...options,
  })
  collector.start(store)
  return { collector, errors, store, count: async () => (await store.stats()).count }
}

async function restartFromOne(stream: string): Promise<void> {
  const [node] = service!.nodes
  await node!.kill()
  await node!.forgetMessages(stream)
  await node!.start()
}

describe.runIf(service !== undefined)(`a collector of NATS after failures${why}`, () => {
  it('P1: a killed server that counts a stream from 1 again hides no letter', async () => {
    const stream = await createStream()
    const { collector, errors, count } = collecting({ streams: [stream] })
    await publish(stream, 5)
    await eventually(count).toBe(5)
    await eventually(async () => (await collector.depths())[0]?.depth).toBe(0)
    await restartFromOne(stream)
    await publish(stream, 1)
    await eventually(count).toBe(6)
    expect(errors.map(String)).toContainEqual(
      expect.stringContaining(`stream '${stream}' counts from 1 again`),
    )
    await collector.close()
  }, 60_000)

  it('P1: nor if the stream has more messages than before when the collector looks', async () => {
    const stream = await createStream()
    const name = uniqueName('nats')
    const first = collecting({ streams: [stream], name })
    await publish(stream, 2)
    await eventually(async () => (await first.collector.depths())[0]?.depth).toBe(0)
    await first.collector.close()
    await restartFromOne(stream)
    await publish(stream, 4)
    const second = collecting({ streams: [stream], name })
    await eventually(second.count).toBe(4)
    await second.collector.close()
  }, 60_000)

  it('E21: a stream that cannot be read is reported, and does not keep the others waiting', async () => {
    const streams = [await createStream(), await createStream()]
    const link = losingMessages(subject => subject === `$JS.API.STREAM.MSG.GET.${streams.toSorted()[0]}`)
    link.startLosing()
    const { collector, errors, count } = collecting({ streams, client: link.client })
    for (const stream of streams) await publish(stream, 1)
    await eventually(count).toBe(1)
    await eventually(() => errors.map(String)).toContainEqual(expect.stringContaining(streams.toSorted()[0]!))
    link.stopLosing()
    await eventually(count).toBe(2)
    expect(errors).toHaveLength(1)
    await collector.close()
  }, 60_000)

  it('P1: an advisory about a message of a deleted stream does not become a letter of another message', async () => {
    const stream = await createStream()
    const { collector, store, count } = collecting({ maxDeliver: [stream] })
    await eventually(() => outside.jetstream.streamInfo(ADVISORY_STREAM)).toBeDefined()
    await publish(stream, 1)
    const advisory = {
      stream,
      consumer: 'billing',
      stream_seq: 1,
      deliveries: 2,
      timestamp: new Date(systemClock.now() - 60_000).toISOString(),
    }
    const subject = ADVISORY_SUBJECT.replace('>', `${stream}.billing`)
    await outside.publishJson(subject, Buffer.from(JSON.stringify(advisory)))
    await eventually(count).toBe(1)
    const { letters } = await store.list({ limit: 1 })
    expect(letters[0]!.origin['unkept']).toContain('removed')
    await collector.close()
  })

  it('P1: a position that is not readable begins at the first message', async () => {
    const stream = await createStream()
    const name = uniqueName('nats')
    const first = collecting({ streams: [stream], name })
    await publish(stream, 1)
    await eventually(async () => (await first.collector.depths())[0]?.depth).toBe(0)
    await first.collector.close()
    const info = await outside.jetstream.streamInfo('LAZARET_COLLECTORS', 'lazaret.collector.>')
    const subject = Object.keys(info!.state.subjects!).find(each => each.includes(name))!
    await outside.link.call(subject, 'broken {')
    const second = collecting({ streams: [stream], name })
    await eventually(second.count).toBe(1)
    await second.collector.close()
  })
})
