import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { settle } from '../../src/testing/fake-clock.ts'
import { cliWorld, type Ran, type RunWith } from './cli.ts'

const folders: string[] = []

export async function removeFolders(): Promise<void> {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
}

interface Meanwhile {
  readonly afterMs?: number
  readonly meanwhile?: () => unknown
}

/** A channel whose consumer gave up on some events. The handler can be fixed. */
export async function createWorldAfterOutage(letters: number) {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-replay-'))
  folders.push(folder)
  const world = cliWorld(folder)
  const { clock, store, factory } = world
  const shop = { isBroken: true, handled: [] as unknown[] }
  const consumer = createConsumer({
    broker: store.broker!,
    channel: 'orders',
    deadLetters: store.deadLetters,
    clock,
    retry: { attempts: 1 },
    breaker: 'off',
    handle: async event => {
      if (shop.isBroken) throw new Error('out of order')
      shop.handled.push(event.payload)
    },
  })
  await consumer.start()
  await store.broker!.publish(factory.events(letters, { payload: { amount: 42 } }))
  await clock.advance(1_000)
  /** Lets time pass from the moment that a replay runs until the command has ended; `meanwhile` happens on the way. */
  async function running(with_: RunWith & Meanwhile, ...argv: string[]): Promise<Ran> {
    const { afterMs = 0, meanwhile, ...io } = with_
    let ran: Ran | undefined
    const ended = world.lazaretWith({ env: { LAZARET_STORE: 'memory:' }, ...io }, ...argv).then(result => {
      ran = result
      return result
    })
    while (ran === undefined && (await store.replays.list({ state: 'running' })).length === 0) await settle()
    // Another command reads real files, while the clock is driven: time stands still until it has ended.
    let other: unknown
    if (meanwhile !== undefined) {
      clock.schedule(afterMs, () => {
        other = meanwhile()
      })
    }
    while (ran === undefined) {
      await clock.advance(100)
      await other
    }
    return ended
  }
  const plan = async (...flags: string[]): Promise<string> =>
    (await world.lazaret('replay', 'plan', '--reason', 'mended', '--json', ...flags)).json[0].id
  return { ...world, shop, folder, running, plan }
}
