import { fileURLToPath } from 'node:url'
import { loadConfig } from './config.ts'
import { listen, portOf } from './http.ts'
import { log } from './log.ts'
import { ProfileService } from './service.ts'

const file = process.argv[2] ?? fileURLToPath(new URL('profile-service.yaml', import.meta.url))

try {
  const config = loadConfig(file)
  const { channel, http } = config.service
  const service = new ProfileService(config)
  await service.start().catch(async (error: unknown) => {
    await service.close()
    throw error
  })
  const server = await listen(service, http.host, http.port)
  log('started', { channel, port: portOf(server), retryLimit: config.consumer(channel).retryLimit })

  const stop = async (signal: string) => {
    log('stopping', { signal })
    await service.close()
    server.close()
    server.closeIdleConnections()
    log('stopped', {})
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop(signal))
} catch (error) {
  process.stderr.write(`profile-service: ${(error as Error).message}\n`)
  process.exitCode = 1
}
