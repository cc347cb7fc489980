import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { PostgresStore } from '../../../src/adapters/postgres/index.ts'
import { openPostgres } from '../../../src/adapters/postgres/index.ts'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { openRedis, redisStreams } from '../../../src/adapters/redis/index.ts'
import { http } from '../../../src/adapters/sinks/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { replayOf } from '../../../src/core/event/replay-headers.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import type { StandardSchema } from '../../../src/ports/schema.ts'
import type { Sink } from '../../../src/ports/sink.ts'
import type { Store } from '../../../src/ports/store.ts'
import { type Consumer, createConsumer } from '../../../src/runtime/consumer/consumer.ts'
import type { HandlerContext } from '../../../src/runtime/consumer/handler-context.ts'
import { createDispatcher, type Dispatcher } from '../../../src/runtime/dispatcher/dispatcher.ts'
import { joinFleet } from '../../../src/runtime/fleet/join-fleet.ts'
import { writeLine } from '../../support/write-line.ts'
import { Journal } from './journal.ts'
import { CALM_FILE, ORDERS, type ServiceSettings, type SINKS, STOCK } from './settings.ts'

// A process of the shop. Handlers and sinks fail at every event and succeed at every replay. The journal has each letter of
// a replay that this process sends, and each command that it executes.
const settings = JSON.parse(process.argv[2] ?? '{}') as ServiceSettings
const { kind, version, folder, receiver, reportEveryMs, hold } = settings
const journal = new Journal(folder, kind)
let sent = 0

/** Opens for commands, and never by failures: every event fails here. */
const breaker = { failures: 1_000_000 } as const
const FAILURE = 'the bank does not answer'
const HOLD_TIMEOUT_MS = 600_000

const withTotal: StandardSchema<{ readonly total: number }> = {
  '~standard': {
    version: 1,
    vendor: 'shop',
    validate(value) {
      const { total } = value as { readonly total?: unknown }
      return typeof total === 'number'
        ? { value: { total } }
        : { issues: [{ message: 'the total is not a number', path: ['total'] }] }
    },
  },
}

/** Sends letters of a replay, and writes them down first. */
async function sending<T>(events: readonly LazaretEvent[], send: () => Promise<T>): Promise<T> {
  const replayed = events.flatMap(event => replayOf(event) ?? [])
  const isHeld = hold !== undefined && sent < hold.at && sent + replayed.length >= hold.at
  sent += replayed.length
  if (isHeld && hold?.when === 'before') await standStill()
  for (const { letterId, attempt } of replayed) journal.write('sending', `${letterId} ${attempt}`)
  const answer = await send()
  if (isHeld) await standStill()
  return answer
}

function standStill(): Promise<never> {
  writeLine('holding')
  return new Promise(() => {})
}

function observed<B extends Broker>(broker: B): B {
  const publish = broker.publish.bind(broker)
  return Object.assign(broker, {
    publish: (events: readonly LazaretEvent[]) => sending(events, () => publish(events)),
  })
}

function observedSink(sink: Sink): Sink {
  return {
    ...sink,
    async write(batch, context) {
      if (batch.every(event => replayOf(event) === undefined)) throw new Error(FAILURE)
      return sending(batch, () => sink.write(batch, context))
    },
  }
}

/** The store as the fleet gets it: reports, commands that were taken and letters that were recorded are written down. */
function observedStore({ fleet, commands, deadLetters, replays }: Store) {
  return {
    fleet: fleet && {
      ...{ leave: fleet.leave.bind(fleet), list: fleet.list.bind(fleet), purge: fleet.purge.bind(fleet) },
      async report(...given: Parameters<typeof fleet.report>) {
        await fleet.report(...given)
        journal.write('reported', given[0].id)
      },
    },
    deadLetters,
    commands: commands && {
      ...{ send: commands.send.bind(commands), finish: commands.finish.bind(commands) },
      ...{ get: commands.get.bind(commands), list: commands.list.bind(commands) },
      purge: commands.purge.bind(commands),
      ...(commands.onCommand && { onCommand: commands.onCommand.bind(commands) }),
      async claim(instance: string, limit: number) {
        const claimed = await commands.claim(instance, limit)
        for (const { id } of claimed) journal.write('executing', id)
        return claimed
      },
    },
    replays: {
      get: replays.get.bind(replays),
      items: replays.items.bind(replays),
      async record(...given: Parameters<Store['replays']['record']>) {
        await replays.record(...given)
        const [, items] = given
        for (const { letterId, cycle, handedOn } of items)
          if (handedOn !== undefined) journal.write('recorded', `${letterId} ${cycle}`)
      },
    },
  }
}

async function reach(path: string, { id }: LazaretEvent, { replay, signal }: HandlerContext): Promise<void> {
  if (replay === 0) throw new Error(FAILURE)
  const body = JSON.stringify({ id })
  const response = await fetch(`${receiver}/${path}`, { method: 'POST', body, signal })
  if (!response.ok) throw new Error(`${path} answers ${response.status}`)
}

async function startConsumer(
  { channel, handler }: { readonly channel: string; readonly handler: string },
  broker: Broker,
  store: Store,
): Promise<Consumer> {
  const consumer = createConsumer({
    ...{ broker: observed(broker), channel, name: handler, deadLetters: store.deadLetters, breaker },
    ...{ schema: withTotal, retry: { attempts: 1 }, leaveOpen: true, concurrency: 8 },
    handle: (event, context) => reach(handler, event, context),
  })
  await consumer.start()
  return consumer
}

function startDispatcher({ deadLetters }: PostgresStore): Dispatcher<(typeof SINKS)[number]> {
  const sink = (name: string) => observedSink(http({ url: `${receiver}/${name}`, probe: false }))
  // A sink that stands still must not give up on its letter before it is killed, however busy the machine is.
  const timeoutMs = hold === undefined ? undefined : HOLD_TIMEOUT_MS
  const lane = { retry: { attempts: 1 }, breaker, timeoutMs } as const
  return createDispatcher({
    sinks: { crm: sink('crm'), warehouse: sink('warehouse') },
    overrides: { crm: lane, warehouse: lane },
    ...{ channel: 'events', deadLetters, leaveOpen: true },
  })
}

/** An event that no sink takes rejects the promise. Then its letters are stored. */
async function track(dispatcher: Dispatcher, count: number): Promise<void> {
  const tracked = Array.from({ length: count }, () =>
    dispatcher.track({ type: 'order.paid', payload: { total: 1 } }).catch(({ result }) => result),
  )
  for (const { event, sinks } of await Promise.all(tracked))
    for (const [sink, { outcome }] of Object.entries<{ readonly outcome: string }>(sinks))
      if (outcome === 'dead_lettered') journal.write('dead', `${event.id} ${sink}`)
}

const store =
  kind === 'stock' ? openRedis({ url: settings.redis! }) : openPostgres({ url: settings.postgres! })
const consumers: Consumer[] = []
const dispatchers: Dispatcher[] = []
const brokers: Broker[] = []
if (kind === 'events') {
  const dispatcher = startDispatcher(store as PostgresStore)
  dispatchers.push(dispatcher)
  await track(dispatcher, settings.tracks ?? 0)
} else {
  const isStock = kind === 'stock'
  const broker = isStock ? redisStreams({ url: settings.redis! }) : rabbitmq({ url: settings.amqp! })
  brokers.push(broker)
  consumers.push(await startConsumer(isStock ? STOCK : ORDERS, broker, store))
}
const member = joinFleet({
  ...{ store: observedStore(store), service: kind, version, reportEveryMs, consumers, dispatchers },
})

let stopTracking = () => {}
function trackAgain(everyMs: number): void {
  stopTracking = systemClock.schedule(everyMs, () => {
    if (existsSync(join(folder, CALM_FILE))) return
    void track(dispatchers[0]!, 1).then(() => trackAgain(everyMs))
  })
}
if (kind === 'events' && settings.tracksEveryMs !== undefined) trackAgain(settings.tracksEveryMs)

writeLine(`joined ${member.id}`)
writeLine('started')
process.once('SIGTERM', async () => {
  stopTracking()
  await member.close()
  for (const part of [...consumers, ...dispatchers]) await part.close()
  for (const broker of brokers) await broker.close()
  await store.close()
})
