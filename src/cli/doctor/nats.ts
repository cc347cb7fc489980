import type { Config } from '../../config/config.ts'
import type { Io } from '../io.ts'
import { ANSWER_MS, checkBrokers, type Finding } from './broker-checks.ts'
import type { Check } from './check.ts'

/** Checks the streams of every NATS broker of the config: whether their settings can lose events or letters. */
export function checkNats(config: Config, { clock }: Pick<Io, 'clock'>): Promise<Check[]> {
  const words = { server: 'server', things: 'consumers' }
  return checkBrokers(config, 'nats', words, async (name, url, lettersKeptMs) => {
    const { withNatsAdmin } = await import('../../adapters/nats/admin/admin.ts')
    return await withNatsAdmin({ url, name, connectTimeoutMs: ANSWER_MS, clock }, async admin => {
      const handlers = await admin.handlers([])
      const findings: Finding[] = [...(await admin.checkSync())]
      for (const handler of handlers) findings.push(...(await admin.check(handler, lettersKeptMs)))
      return { handlers: handlers.length, findings }
    })
  })
}
