import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { asRequest } from 'lazaret'
import { type Config, retriesPerSecond } from './config.ts'
import type { OrderEvents } from './events.ts'
import { NewOrder, type Orders } from './orders.ts'
import type { ReceiverProcess } from './receiver-process.ts'
import type { Sample, Watch } from './watch.ts'

interface Parts {
  readonly config: Config
  readonly orders: Orders
  readonly events: OrderEvents
  readonly watch: Watch
  readonly receivers: ReceiverProcess | undefined
}

const page = readFileSync(new URL('page.html', import.meta.url), 'utf8')

export function createApp({ config, orders, events, watch, receivers }: Parts): Hono {
  const app = new Hono()
  app.get('/', context => context.html(page.replace('{{limit}}', String(retriesPerSecond(config)))))

  app.post('/orders', async context => {
    const order = NewOrder.safeParse(await context.req.json().catch(() => undefined))
    if (!order.success) return context.json({ faults: order.error.issues }, 400)
    // A failure to track is thrown in here. With `wait: 'accepted'` there is one only when no event could be kept.
    return context.json(await asRequest(() => orders.place(order.data)), 201)
  })

  app.get('/healthz', context => {
    const health = events.health()
    return context.json(health, health.status === 'UP' ? 200 : 503)
  })

  /** The button of the page; the same as `curl -X POST localhost:4701/fail?for=10s`. */
  app.post('/fail', context => {
    if (receivers === undefined) return context.text('there is nothing to play with\n', 409)
    receivers.fail({ fail: 'loki', forMs: 10_000 })
    return context.text('loki answers 503 for 10 s\n')
  })

  app.get('/stream', context =>
    streamSSE(context, async stream => {
      const send = (sample: Sample) => void stream.writeSSE({ data: JSON.stringify(sample) })
      for (const sample of watch.samples) send(sample)
      const unwatch = watch.watch(send)
      await new Promise<void>(resolve => stream.onAbort(resolve))
      unwatch()
    }),
  )
  return app
}
