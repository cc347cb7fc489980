import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { type DispatcherHealth, loadPolicies, RETRY_LIMIT_PRESETS } from '../../src/index.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { COMPILE_CACHE_ENV } from '../services/compile-cache.ts'
import { withTempFolder } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'

const timing = new TestTiming({})
const running = new Set<OrderProcess>()
afterEach(() => {
  for (const service of running) service.kill()
  running.clear()
})

type Child = ChildProcessByStdio<null, Readable, null>
type Counts = Readonly<Record<string, number>>

/** The example as a process of its own, as its README starts it. */
class OrderProcess {
  readonly #child: Child
  readonly #url: string
  readonly #control: string

  private constructor(child: Child, url: string, controlPort: number) {
    this.#child = child
    this.#url = url
    this.#control = `http://127.0.0.1:${controlPort}`
  }

  static async start(dir: string, env: NodeJS.ProcessEnv = {}): Promise<OrderProcess> {
    const child = run('main.ts', [], { DIR: dir, HTTP_PORT: '0', CONTROL_PORT: '0', ...env })
    for await (const text of createInterface(child.stdout)) {
      const line = JSON.parse(text) as { what: string; url: string; controlPort: number }
      if (line.what !== 'started') continue
      child.stdout.resume()
      const service = new OrderProcess(child, line.url, line.controlPort)
      running.add(service)
      return service
    }
    throw new Error('the example ended before it had started')
  }

  async order(card = '4242'): Promise<{ readonly state: string; readonly tracked: readonly object[] }> {
    const body = JSON.stringify({ customer: 'ann', total: 12, card })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${this.#url}/orders`, { method: 'POST', body, headers })
    expect(response.status).toBe(201)
    return (await response.json()) as { state: string; tracked: object[] }
  }

  async shop(orders: number, seconds: number): Promise<void> {
    const child = run('shop.ts', [String(orders), String(seconds)], { SERVICE_URL: this.#url })
    const told = await child.stdout
      .setEncoding('utf8')
      .reduce((all: string, piece: string) => all + piece, '')
    expect(told).toBe(`${orders} of ${orders} orders were taken\n`)
  }

  /** From now on; for 0 s is well again. */
  async fail(sink: string, duration: string): Promise<void> {
    await fetch(`${this.#control}/fail?sink=${sink}&for=${duration}`, { method: 'POST' })
  }

  async received(): Promise<{ readonly loki: Counts; readonly sentry: Counts }> {
    return (await (await fetch(`${this.#control}/received`)).json()) as { loki: Counts; sentry: Counts }
  }

  async health(): Promise<{ readonly code: number; readonly report: DispatcherHealth }> {
    const response = await fetch(`${this.#url}/healthz`)
    return { code: response.status, report: (await response.json()) as DispatcherHealth }
  }

  /** What the page is told, until it has been told enough. */
  async watch(isEnough: (sample: { readonly perSecond: number; readonly isFailing: boolean }) => boolean) {
    const response = await fetch(`${this.#url}/stream`)
    let text = ''
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      const samples = [...text.matchAll(/^data: (.*)\n/gm)].map(([, data]) => JSON.parse(data!))
      if (samples.some(isEnough)) return
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async ended(signal: NodeJS.Signals): Promise<number | null> {
    const exit = once(this.#child, 'exit')
    this.#child.kill(signal)
    await exit
    return this.#child.exitCode
  }
}

function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Child {
  const fromSource = join(ROOT, 'test/support/from-source.ts')
  const words = [
    '--no-warnings',
    '--import',
    fromSource,
    join(ROOT, 'examples/order-service', script),
    ...args,
  ]
  return spawn(process.execPath, words, {
    env: { ...COMPILE_CACHE_ENV, PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

const delivered = (service: OrderProcess, sink: 'loki' | 'sentry', type: string, count: number) =>
  timing.eventually(
    async () => (await service.received())[sink][type] === count,
    `${count} ${type} in ${sink}`,
  )

async function reasonsOf(dir: string): Promise<Readonly<Record<string, number>>> {
  const store = fileDeadLetters({ dir: join(dir, 'dead-letters') })
  const { letters } = await store.list({ limit: 100 })
  await store.close()
  const grouped = Map.groupBy(letters, ({ cycle, handler }) => `${handler} ${cycle.reason}`)
  return Object.fromEntries(Array.from(grouped, ([of, all]) => [of, all.length]))
}

describe('examples/order-service', () => {
  it('E17: paid and declined orders reach Loki and Sentry, and the answer names each sink', async () => {
    await withTempFolder(async dir => {
      const service = await OrderProcess.start(dir)
      expect(await service.order()).toMatchObject({
        state: 'paid',
        tracked: [
          { type: 'order.placed', loki: 'accepted', sentry: 'accepted' },
          { type: 'order.paid', loki: 'accepted', sentry: 'accepted' },
        ],
      })
      expect(await service.order('4240')).toMatchObject({ state: 'declined' })
      await delivered(service, 'loki', 'order.placed', 2)
      await delivered(service, 'loki', 'order.paid', 1)
      await delivered(service, 'sentry', 'payment.failed', 1)
      expect(await service.health()).toMatchObject({ code: 200, report: { status: 'UP' } })
      expect(await service.ended('SIGTERM')).toBe(0)
    })
  })

  it('E5: orders are accepted while Loki fails; after its recovery all events arrive, and the page shows them', async () => {
    await withTempFolder(async dir => {
      const service = await OrderProcess.start(dir)
      await service.fail('loki', '60s')
      const shown = service.watch(({ isFailing }) => isFailing)
      await service.shop(60, 1)
      await shown
      await timing.eventually(
        async () => (await service.health()).report.status !== 'UP',
        'the breaker opens',
      )
      expect((await service.health()).code).toBe(503)
      await service.fail('loki', '0s')
      const storm = service.watch(({ perSecond }) => perSecond > 0)
      await delivered(service, 'loki', 'order.placed', 60)
      await delivered(service, 'loki', 'order.paid', 57)
      await delivered(service, 'loki', 'payment.failed', 3)
      await storm
      expect((await service.health()).report.sinks['loki']).toMatchObject({ delivered: 120, gaveUp: 0 })
      expect(await service.ended('SIGTERM')).toBe(0)
      expect(await reasonsOf(dir)).toEqual({})
    })
  })

  it('E14: orders over the limit become dead letters for every sink, and payments pass', async () => {
    await withTempFolder(async dir => {
      const service = await OrderProcess.start(dir, { EVENTS_PER_SECOND: '1' })
      for (let orders = 0; orders < 5; orders++) await service.order()
      await delivered(service, 'loki', 'order.paid', 5)
      const { loki } = await service.received()
      expect(await service.ended('SIGTERM')).toBe(0)
      expect(await reasonsOf(dir)).toEqual({ '* rate_limited': 5 - (loki['order.placed'] ?? 0) })
    })
  })

  it.each(['production', 'staging', 'development'] as const)(
    'R1 E4: the same service starts with the preset %s of its file, and tracks orders',
    async preset => {
      await withTempFolder(async dir => {
        const { onLimit } = RETRY_LIMIT_PRESETS[preset]
        const policies = loadPolicies(join(ROOT, 'examples/order-service/order-service.yaml'), {
          env: { PRESET: preset },
        })
        expect(policies.dispatcher().retryLimit).toMatchObject({ perSecond: 100, onLimit })
        const service = await OrderProcess.start(dir, { PRESET: preset })
        expect(await service.order()).toMatchObject({ state: 'paid' })
        await delivered(service, 'loki', 'order.paid', 1)
        expect(await service.ended('SIGTERM')).toBe(0)
      })
    },
  )

  it('K10: after a stop while Loki fails, the next process sends the waiting events; after a kill, the payments', async () => {
    await withTempFolder(async dir => {
      const first = await OrderProcess.start(dir, { GRACE_MS: '500' })
      await first.fail('loki', '60s')
      await first.order()
      expect(await first.ended('SIGTERM')).toBe(0)
      expect(await reasonsOf(dir)).toEqual({})

      const second = await OrderProcess.start(dir)
      await delivered(second, 'loki', 'order.placed', 1)
      await delivered(second, 'loki', 'order.paid', 1)
      await second.fail('loki', '60s')
      await second.order()
      await second.ended('SIGKILL')

      const third = await OrderProcess.start(dir)
      await delivered(third, 'loki', 'order.paid', 1)
      expect((await third.received()).loki).toEqual({ 'order.paid': 1 })
      expect(await third.ended('SIGTERM')).toBe(0)
    })
  })
})
