import { brokerType } from '../../config/brokers.ts'
import type { Config } from '../../config/config.ts'
import type { Io } from '../io.ts'
import { counted } from '../print/fields.ts'
import { type Check, failWith, ok } from './check.ts'
import { lettersKeptMs } from './kafka.ts'

const TIMEOUT_MS = 5_000

/** Checks the streams of every NATS broker of the config: whether their settings can lose events or letters. */
export async function checkNats(config: Config, { clock }: Pick<Io, 'clock'>): Promise<Check[]> {
  const given = Object.entries(config.brokers ?? {}).filter(([, { url }]) => brokerType(url) === 'nats')
  const checks: Check[] = []
  for (const [name, { url }] of given) {
    try {
      checks.push(...(await checkBroker(name, url, lettersKeptMs(config), clock)))
    } catch (error) {
      checks.push(failWith('nats', error, `check the server, and brokers.${name} in the config`))
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
  const { withNatsAdmin } = await import('../../adapters/nats/admin/admin.ts')
  return await withNatsAdmin({ url, name, connectTimeoutMs: TIMEOUT_MS, clock }, async admin => {
    const handlers = await admin.handlers([])
    const findings = new Map<string, Check>()
    // Handlers of one channel share its streams, which are reported once.
    const found = [...(await admin.checkSync())]
    for (const handler of handlers) found.push(...(await admin.check(handler, keptMs)))
    for (const each of found)
      findings.set(each.found, { ...each, name: 'nats', found: `${name}: ${each.found}` })
    return [
      ok('nats', `${name}: ${counted(handlers.length, 'handler')} with consumers`),
      ...findings.values(),
    ]
  })
}
