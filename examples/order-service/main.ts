import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { loadConfig } from './config.ts'
import { createEvents } from './events.ts'
import { createApp } from './http.ts'
import { log } from './log.ts'
import { Orders } from './orders.ts'
import { ReceiverProcess } from './receiver-process.ts'
import { Watch } from './watch.ts'

try {
  const config = loadConfig()
  const { httpPort, controlPort, lokiUrl, sentryDsn } = config.service
  const isOnItsOwn = lokiUrl === undefined || sentryDsn === undefined
  const receivers = isOnItsOwn ? await ReceiverProcess.start(controlPort) : undefined
  const events = createEvents(
    config,
    lokiUrl ?? receivers!.address.lokiUrl,
    sentryDsn ?? receivers!.address.sentryDsn,
  )
  const watch = new Watch(events, receivers)
  const app = createApp({ config, orders: new Orders(events), events, watch, receivers })
  const server = createAdaptorServer({ fetch: app.fetch })
  server.listen(httpPort, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  log('started', { url: `http://localhost:${port}`, controlPort: receivers?.address.controlPort })

  /** Accepts no new orders, sends or saves all tracked events, and only then closes the receivers. */
  const stop = async (signal: string) => {
    log('stopping', { signal })
    watch.close()
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
    await events.close()
    receivers?.close()
    log('stopped', {})
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop(signal))
} catch (error) {
  process.stderr.write(`order-service: ${(error as Error).message}\n`)
  process.exitCode = 1
}
