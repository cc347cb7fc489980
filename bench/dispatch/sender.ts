// One candidate in a process of its own: node --expose-gc bench/dispatch/sender.ts CANDIDATE MEASURE EVENTS
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { systemClock, yieldToEventLoop } from '../../src/ports/clock.ts'
import { percentile } from '../harness/percentile.ts'
import type { Candidate, Targets } from './candidate.ts'
import { lazaretHttp, lazaretKeeping, lazaretLoki } from './lazaret.ts'
import { otelJson, otelProtobuf } from './otel.ts'
import { pinoLoki } from './pino.ts'
import type { ReceiverMessage } from './receiver.ts'

export const CANDIDATES: Readonly<Record<string, (targets: Targets) => Candidate>> = {
  'lazaret, http': lazaretHttp,
  'lazaret, loki': lazaretLoki,
  'lazaret, http, dead letters in files': lazaretKeeping,
  'pino + pino-loki': pinoLoki,
  'OpenTelemetry, JSON': otelJson,
  'OpenTelemetry, protobuf': otelProtobuf,
}

export type Measure = 'one' | 'three' | 'calls' | 'memory'

export interface Report {
  /** Delivered to every live receiver. */
  readonly perSecond: number
  /** The cost of a call for the caller. */
  readonly callsUs?: { readonly mean: number; readonly p99: number } | undefined
  /** Heap and external memory after a garbage collection: after a quarter of the events, and after all. */
  readonly memoryMb?: { readonly early: number; readonly late: number } | undefined
}

/** The events between two turns: enough to keep a sender busy, few enough not to block its I/O. */
const IN_ONE_GO = 100
/** The pause of a service with other work between two events. */
const IN_ONE_GO_OF_A_SERVICE = 10
const WARM_UP = 0.25
const CLOSE_MS = 2_000

class Receivers {
  readonly #child = fork(new URL('receiver.ts', import.meta.url))

  async urls(): Promise<readonly string[]> {
    const [told] = (await once(this.#child, 'message')) as [Exclude<ReceiverMessage, 'all'>]
    return told.urls
  }

  /** Resolves when this number of events has arrived at this number of ports. */
  async received(expect: number, doors: number): Promise<void> {
    const all = once(this.#child, 'message')
    this.#child.send({ expect, doors })
    await all
  }

  close(): void {
    this.#child.disconnect()
  }
}

/** A port that was free a moment ago: connections to it are refused. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

const nowUs = () => Number(process.hrtime.bigint()) / 1e3

async function emitAll(candidate: Candidate, from: number, to: number): Promise<void> {
  for (let order = from; order < to; ) {
    for (let n = 0; n < IN_ONE_GO && order < to; n++) candidate.emit(order++)
    await candidate.room()
  }
}

async function emitTimed(candidate: Candidate, count: number): Promise<Report['callsUs']> {
  const costs = new Float64Array(count)
  for (let order = 0; order < count; ) {
    for (let n = 0; n < IN_ONE_GO_OF_A_SERVICE && order < count; n++) {
      const startedAt = nowUs()
      candidate.emit(order)
      costs[order++] = nowUs() - startedAt
    }
    await yieldToEventLoop()
  }
  const mean = costs.reduce((sum, cost) => sum + cost, 0) / count
  return { mean, p99: percentile(Array.from(costs), 0.99) }
}

function memoryMb(): number {
  globalThis.gc!()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

async function run(
  candidate: Candidate,
  measure: Measure,
  count: number,
): Promise<Omit<Report, 'perSecond'>> {
  if (measure === 'calls') return { callsUs: await emitTimed(candidate, count) }
  if (measure !== 'memory') {
    await emitAll(candidate, 0, count)
    return {}
  }
  await emitAll(candidate, 0, count / 4)
  const early = memoryMb()
  await emitAll(candidate, count / 4, count)
  return { memoryMb: { early, late: memoryMb() } }
}

const [name = '', measure, events] = process.argv.slice(2)
const receivers = new Receivers()
const urls = await receivers.urls()
const hasDeadReceiver = measure === 'three' || measure === 'memory'
const live = urls.slice(0, hasDeadReceiver ? 2 : 1)
const candidate = CANDIDATES[name]!({ live, dead: hasDeadReceiver ? [await deadUrl()] : [] })
const count = Number(events)
for (const share of [WARM_UP, 1]) {
  const received = receivers.received(count * share, live.length)
  const startedAt = nowUs()
  const report = await run(candidate, measure as Measure, count * share)
  await received
  const perSecond = (count * share * 1e6) / (nowUs() - startedAt)
  if (share === 1) process.stdout.write(JSON.stringify({ perSecond, ...report } satisfies Report))
}
// Some candidates would try to reach the dead receiver for minutes; the measurement has ended.
const deadline = new Promise<void>(resolve => systemClock.schedule(CLOSE_MS, resolve))
await Promise.race([candidate.close(), deadline])
receivers.close()
process.exit()
