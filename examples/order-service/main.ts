import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { readConfig } from './config.ts'
import { createEvents } from './events.ts'
import { FarSide } from './far-side-process.ts'
import { createApp } from './http.ts'
import { log } from './log.ts'
import { Orders } from './orders.ts'
import { Watch } from './watch.ts'

try {
  const config = readConfig(process.env)
  const { lokiUrl, sentryDsn } = config
  const isOnItsOwn = lokiUrl === undefined || sentryDsn === undefined
  const farSide = isOnItsOwn ? await FarSide.start(config.controlPort) : undefined
  const events = createEvents(
    config,
    lokiUrl ?? farSide!.address.lokiUrl,
    sentryDsn ?? farSide!.address.sentryDsn,
  )
  const watch = new Watch(events, farSide)
  const app = createApp({ config, orders: new Orders(events), events, watch, farSide })
  const server = createAdaptorServer({ fetch: app.fetch })
  server.listen(config.httpPort, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  log('started', { url: `http://localhost:${port}`, controlPort: farSide?.address.controlPort })

  /** Accepts no new orders, sends or saves all tracked events, and only then closes the receivers. */
  const stop = async (signal: string) => {
    log('stopping', { signal })
    watch.close()
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
    await events.close()
    farSide?.close()
    log('stopped', {})
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop(signal))
} catch (error) {
  process.stderr.write(`order-service: ${(error as Error).message}\n`)
  process.exitCode = 1
}
