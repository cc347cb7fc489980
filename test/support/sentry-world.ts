import * as Sentry from '@sentry/node'
import { type SentryOptions, sentry } from '../../src/adapters/sinks/index.ts'
import { sentryId } from '../../src/adapters/sinks/sentry/event.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import type { Sink } from '../../src/ports/sink.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { type SentryReceiver, sentryReceiver } from '../receivers/sentry.ts'

export const make = createFactory({ clock: systemClock, random: systemRandom })

export const errorEvent = (payload: unknown = { amount: 1 }) =>
  make.event({ type: 'payment.failed', headers: { severity: 'error' }, payload })

export const errorEvents = (count: number) => Array.from({ length: count }, () => errorEvent())

export const sentryIdsOf = (events: readonly { readonly id: string }[]) =>
  events.map(({ id }) => sentryId(id))

/** Runs with a receiver and a sink for it, and closes both. */
export async function withSentry(
  options: (receiver: SentryReceiver) => SentryOptions,
  run: (receiver: SentryReceiver, sink: Sink) => Promise<void>,
): Promise<void> {
  const receiver = await sentryReceiver()
  const sink = sentry(options(receiver))
  try {
    await run(receiver, sink)
  } finally {
    await sink.close!()
    await receiver.close()
  }
}

const clients: Sentry.NodeClient[] = []

/** A client as a service has it, with hooks and filters of its own. Close them all after each test. */
export function clientFor(receiver: SentryReceiver, options: object = {}): Sentry.NodeClient {
  const client = new Sentry.NodeClient({
    dsn: receiver.dsn,
    integrations: [],
    stackParser: Sentry.defaultStackParser,
    transport: Sentry.makeNodeTransport,
    ...options,
  })
  client.init()
  clients.push(client)
  return client
}

export async function closeClients(): Promise<void> {
  for (const client of clients.splice(0)) await client.close(1)
}
