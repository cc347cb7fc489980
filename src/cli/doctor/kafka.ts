import type { Config } from '../../config/config.ts'
import type { Io } from '../io.ts'
import { ANSWER_MS, checkBrokers, type Finding } from './broker-checks.ts'
import type { Check } from './check.ts'

/** Checks the topics of every Kafka broker of the config: whether their settings can lose events or letters. */
export function checkKafka(config: Config, { clock }: Pick<Io, 'clock'>): Promise<Check[]> {
  const words = { server: 'brokers', things: 'topics' }
  return checkBrokers(config, 'kafka', words, async (name, url, lettersKeptMs) => {
    const { withKafkaAdmin } = await import('../../adapters/kafka/admin/admin.ts')
    const { optionsOfUrl } = await import('../../adapters/kafka/url.ts')
    const options = { ...optionsOfUrl(url), name, connectTimeoutMs: ANSWER_MS, clock }
    return await withKafkaAdmin(options, async admin => {
      const handlers = await admin.handlers([])
      const findings: Finding[] = []
      for (const handler of handlers) findings.push(...(await admin.check(handler, lettersKeptMs)))
      return { handlers: handlers.length, findings }
    })
  })
}
