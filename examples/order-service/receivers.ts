// Servers that look like Loki and Sentry, in a process of their own, and fail when they are told to. They check what
// they are sent as strictly as the real ones: they are those of the tests.
import { createServer } from 'node:http'
import { clearTimeout, setInterval, setTimeout } from 'node:timers'
import { lokiReceiver } from '../../test/receivers/loki.ts'
import type { Misbehaviour, Receiver } from '../../test/receivers/receiver.ts'
import { sentryReceiver } from '../../test/receivers/sentry.ts'
import { Rate } from './rate.ts'

/** What this process tells the one that started it. */
export type ReceiverUpdate =
  | { readonly lokiUrl: string; readonly sentryDsn: string; readonly controlPort: number }
  | { readonly lokiPerSecond: number; readonly failing: readonly SinkName[] }
export type SinkName = 'loki' | 'sentry'
/** What it is told: let this one fail for so long. */
export interface Order {
  readonly fail: SinkName
  readonly forMs: number
}

const TELL_EVERY_MS = 100
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m)?$/
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }
const UNAVAILABLE: Misbehaviour = { status: 503, body: 'failing on command' }

// After an outage older events come beside new ones, which Loki takes as it is delivered.
const loki = await lokiReceiver({ isOrdered: false })
const sentry = await sentryReceiver()
const receivers: Readonly<Record<SinkName, Receiver>> = { loki, sentry }
const failing = new Map<SinkName, NodeJS.Timeout>()

function fail({ fail: name, forMs }: Order): void {
  clearTimeout(failing.get(name))
  receivers[name].misbehave(UNAVAILABLE)
  const end = () => {
    receivers[name].misbehave(undefined)
    failing.delete(name)
  }
  failing.set(name, setTimeout(end, forMs))
}

function readOrder(url: URL): Order | undefined {
  const name = url.searchParams.get('sink') ?? 'loki'
  const [, count, unit = 's'] = DURATION.exec(url.searchParams.get('for') ?? '10s') ?? []
  if (count === undefined || !(name === 'loki' || name === 'sentry')) return undefined
  return { fail: name, forMs: Number(count) * UNIT_MS[unit]! }
}

/** The types of the events that each has, and how often. */
function received(): Readonly<Record<SinkName, Readonly<Record<string, number>>>> {
  const count = (types: readonly unknown[]) =>
    Object.fromEntries(Array.from(Map.groupBy(types, String), ([type, all]) => [type, all.length]))
  return {
    loki: count(loki.entries.map(({ metadata }) => metadata['event_type'])),
    sentry: count(
      [...sentry.events.values()].map(({ tags }) => (tags as Record<string, string>)['event.type']),
    ),
  }
}

/** `curl -X POST 'localhost:4701/fail?for=10s&sink=loki'`, and `curl localhost:4701/received`. */
const control = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const order = readOrder(url)
  if (request.method === 'POST' && url.pathname === '/fail' && order !== undefined) {
    fail(order)
    response.end(`${order.fail} answers 503 for ${order.forMs / 1_000} s\n`)
  } else if (request.method === 'GET' && url.pathname === '/received')
    response.setHeader('content-type', 'application/json').end(`${JSON.stringify(received())}\n`)
  else response.writeHead(400).end('there is POST /fail?for=10s&sink=loki (or sentry), and GET /received\n')
})

const tell = (news: ReceiverUpdate) => process.send?.(news)
process.on('message', fail)
process.on('disconnect', () => process.exit())
control.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = control.address() as { readonly port: number }
  tell({ lokiUrl: loki.url, sentryDsn: sentry.dsn, controlPort: address.port })
  const rate = new Rate()
  setInterval(
    () => tell({ lokiPerSecond: rate.look(loki.entries.length), failing: [...failing.keys()] }),
    TELL_EVERY_MS,
  )
})
