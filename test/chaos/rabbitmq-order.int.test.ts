import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { systemRandom } from '../../src/ports/clock.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { withTempFolder } from '../support/folder.ts'
import { RabbitmqAdmin } from '../support/rabbitmq.ts'
import { ChaosProxy } from './proxy.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? '' : ` (skipped: ${found.why})`
const SCRIPT = fileURLToPath(new URL('order-consumer.ts', import.meta.url))
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
/** Events of a key between two faults. */
const PER_ROUND = 10
const timing = new TestTiming({})
const make = createFactory({ random: systemRandom })

const children = new Set<ChildProcess>()
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function consume(...args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--no-warnings', SCRIPT, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  child.stdout.resume()
  return child
}

async function kill(child: ChildProcess | undefined, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** The first time each was handled, by key and in the order of handling. */
async function handled(file: string): Promise<Map<string, number[]>> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const firsts = new Map<string, number[]>()
  for (const line of text.split('\n').slice(0, -1)) {
    const [key = '', n = ''] = line.split(' ')
    const list = firsts.get(key) ?? []
    if (!list.includes(Number(n))) firsts.set(key, [...list, Number(n)])
  }
  return firsts
}

const countOf = async (file: string) => [...(await handled(file)).values()].flat().length

const isOurs = found.found && found.isPrivate

describe.runIf(isOurs)(`ordering by key on RabbitMQ${why}`, () => {
  it.each([
    ['quorum', ['kill', 'cut', 'kill', 'kill', 'restart']],
    ['classic', ['kill', 'cut', 'kill', 'cut', 'kill']],
  ] as const)('B9: on %s queues, it is kept through all of %j', (queueType, faults) =>
    withTempFolder(async folder => {
      const file = join(folder, 'handled')
      const channel = uniqueName('order')
      const isRestarted = faults.some(fault => fault === 'restart')
      const proxy = await ChaosProxy.to(server!.url)
      const args = [proxy.through(server!.url), channel, queueType, file]
      const broker = rabbitmq({ url: server!.url, queueType })
      const consumers = [await consume(...args), await consume(...args)]
      // The server of Debian 12 can forget who leads a quorum queue that was declared right before a kill.
      if (isRestarted) {
        await server!.node!.stop()
        await server!.node!.start()
      }
      let published = 0
      const publish = async () => {
        for (const end = published + PER_ROUND; published < end; published++) {
          const payload = { n: published, kind: published % 10 === 3 ? 'fails once' : 'valid' }
          await broker.publish(KEYS.map(key => make.event({ channel, key, payload })))
        }
      }
      await publish()
      for (const [round, fault] of faults.entries()) {
        const half = (published - PER_ROUND / 2) * KEYS.length
        await timing.eventually(async () => (await countOf(file)) >= half, `${half} handled`)
        // So that there is work to be disturbed, however fast the rest was.
        await publish()
        if (fault === 'cut') proxy.cut()
        else if (fault === 'restart') {
          await server!.node!.kill()
          await server!.node!.start()
        } else {
          await kill(consumers[round % 2])
          consumers[round % 2] = await consume(...args)
        }
      }
      const all = KEYS.length * published
      await timing.eventually(async () => (await countOf(file)) === all, 'all are handled')
      const inOrder = Array.from({ length: published }, (_, n) => n)
      for (const [key, order] of await handled(file)) expect(order, key).toEqual(inOrder)
      for (const each of consumers) await kill(each, 'SIGTERM')
      await proxy.close()
      await broker.close()
    }),
  )

  it.each([
    ['quorum', 'without'],
    ['classic', 'without'],
    ['quorum', 'with'],
  ] as const)(
    'B8: on %s queues, %s a ledger, an event that kills its process is in quarantine after 3 attempts and blocks its key until it is discarded',
    (queueType, isWithLedger) =>
      withTempFolder(async folder => {
        const file = join(folder, 'handled')
        const channel = uniqueName('order')
        const broker = rabbitmq({ url: server!.url, queueType })
        const event = (key: string, n: number, kind = 'valid') =>
          make.event({ channel, key, payload: { n, kind } })
        const deadly = event('a', 1, 'deadly')
        await broker.publish([event('a', 0), deadly, event('a', 2), event('b', 0), event('b', 1)])
        const ledger = isWithLedger === 'with' ? [join(folder, 'ledger.db')] : []
        expect(await deathsUntilQuarantine(channel, queueType, file, ...ledger)).toBe(3)
        await timing.eventually(async () => (await countOf(file)) === 3, 'the others are handled')
        await timing.quiet()
        expect(await handled(file)).toEqual(
          new Map([
            ['a', [0]],
            ['b', [0, 1]],
          ]),
        )
        await broker.unblockKey(channel, deadly.id)
        await timing.eventually(
          async () => (await handled(file)).get('a')?.length === 2,
          'the next of its key',
        )
        await broker.close()
      }),
  )

  it.each(['quorum', 'classic'] as const)(
    'B8: on %s queues, an event without a key that kills its process at once is in quarantine after 3 attempts, and no copy of it is left',
    queueType =>
      withTempFolder(async folder => {
        const file = join(folder, 'handled')
        const channel = uniqueName('order')
        const broker = rabbitmq({ url: server!.url, queueType })
        const deadly = make.event({ channel, payload: { n: 0, kind: 'deadly at once' } })
        await broker.publish([deadly, make.event({ channel, key: 'a', payload: { n: 0, kind: 'valid' } })])
        expect(await deathsUntilQuarantine(channel, queueType, file)).toBe(3)
        await timing.eventually(async () => (await countOf(file)) === 1, 'the other is handled')
        for (const each of children) await kill(each, 'SIGTERM')
        const outside = await RabbitmqAdmin.at(server!.url)
        expect([await outside.depth(channel), await outside.depth(`${channel}.held`)]).toEqual([0, 0])
        await outside.close()
        await broker.close()
      }),
  )
})

/** Starts one consumer after another until a letter is quarantined. Answers how many have died. */
async function deathsUntilQuarantine(channel: string, ...args: readonly string[]): Promise<number> {
  let deaths = 0
  for (let isOver = false; !isOver; ) {
    const child = await consume(server!.url, channel, ...args)
    await timing.eventually(async () => {
      isOver = await isQuarantined(channel)
      return isOver || child.signalCode !== null
    }, 'it dies, or gives up')
    if (!isOver) deaths++
    expect(deaths).toBeLessThan(6)
  }
  return deaths
}

async function isQuarantined(channel: string): Promise<boolean> {
  const outside = await RabbitmqAdmin.at(server!.url)
  try {
    return (await outside.depth(`${channel}.dlq.quarantine.unknown`)) > 0
  } catch {
    return false
  } finally {
    await outside.close()
  }
}
