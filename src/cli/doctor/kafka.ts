import { brokerType } from '../../config/brokers.ts'
import type { Config } from '../../config/config.ts'
import type { Io } from '../io.ts'
import { counted } from '../print/fields.ts'
import { type Check, failWith, ok } from './check.ts'

const TIMEOUT_MS = 5_000

/** Checks the topics of every Kafka broker of the config: whether their settings can lose events or letters. */
export async function checkKafka(config: Config, { clock }: Pick<Io, 'clock'>): Promise<Check[]> {
  const given = Object.entries(config.brokers ?? {}).filter(([, { url }]) => brokerType(url) === 'kafka')
  const checks: Check[] = []
  for (const [name, { url }] of given) {
    try {
      checks.push(...(await checkBroker(name, url, lettersKeptMs(config), clock)))
    } catch (error) {
      checks.push(failWith('kafka', error, `check the brokers, and brokers.${name} in the config`))
    }
  }
  return checks
}

async function checkBroker(
  name: string,
  url: string,
  keptMs: number,
  clock: Io['clock'],
): Promise<readonly Check[]> {
  const { withKafkaAdmin } = await import('../../adapters/kafka/admin/admin.ts')
  const { optionsOfUrl } = await import('../../adapters/kafka/url.ts')
  const options = { ...optionsOfUrl(url), name, connectTimeoutMs: TIMEOUT_MS, clock }
  return await withKafkaAdmin(options, async admin => {
    const handlers = await admin.handlers([])
    const findings = new Map<string, Check>()
    // Handlers of one channel share its topic, which is reported once.
    for (const handler of handlers)
      for (const { status, found, remedy } of await admin.check(handler, keptMs))
        findings.set(found, { name: 'kafka', status, found: `${name}: ${found}`, remedy })
    const summary = `${name}: ${counted(handlers.length, 'handler')} with topics`
    return [ok('kafka', summary), ...findings.values()]
  })
}

/** The store keeps undecided letters this long, so the topics have to keep them too. */
export function lettersKeptMs({ expireUndecidedAfter }: Config): number {
  return typeof expireUndecidedAfter === 'number' ? expireUndecidedAfter : Number.POSITIVE_INFINITY
}
