import type { Config } from '../../config/config.ts'
import { settlesWithin } from '../../ports/clock.ts'
import type { Collector } from '../../ports/collector.ts'
import { openCollectors } from '../collectors.ts'
import type { Io } from '../io.ts'
import { counted } from '../print/fields.ts'
import { type Check, fail, failWith, ok, warn } from './check.ts'

const TIMEOUT_MS = 10_000
/** The name of the store of `lazaret serve` without `server.stores`. */
const ONLY_STORE = 'main'

/** Connects to the broker of every collector and counts its queues. It takes no message. */
export async function checkCollectors(config: Config, io: Pick<Io, 'clock' | 'random'>): Promise<Check[]> {
  const checks: Check[] = []
  const stores = Object.keys(config.server.stores ?? { [ONLY_STORE]: '' })
  for (const { collector, store } of await openCollectors(config, io, () => {})) {
    const setting = `collectors.${collector.name}`
    if (store !== undefined && !stores.includes(store))
      checks.push(
        fail('collector', `${setting}.store: unknown store ${store}`, `use one of ${stores.join(', ')}`),
      )
    const { queues, topics, streams } = config.collectors?.[collector.name] ?? {}
    const kind = queues !== undefined ? 'queue' : topics !== undefined ? 'topic' : 'stream'
    try {
      checks.push(...(await checkQueues(collector, kind, queues ?? topics ?? streams ?? [], io)))
    } catch (error) {
      const problem = `${collector.name}: ${error instanceof Error ? error.message : error}`
      checks.push(failWith('collector', new Error(problem), `check the server, and ${setting} in the config`))
    } finally {
      await collector.close()
    }
  }
  return checks
}

async function checkQueues(
  collector: Collector,
  kind: 'queue' | 'topic' | 'stream',
  queues: readonly string[],
  { clock }: Pick<Io, 'clock'>,
): Promise<Check[]> {
  const asked = collector.depths()
  if (!(await settlesWithin(clock, TIMEOUT_MS, asked)))
    throw new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)
  const depths = await asked
  const waiting = depths.reduce((sum, { depth }) => sum + depth, 0)
  const found = `${collector.name}: ${counted(waiting, 'message')} in ${counted(depths.length, kind)}`
  // A pattern may match no queue yet.
  const missing = queues.filter(queue => !queue.includes('*') && !depths.some(each => each.queue === queue))
  return [
    ok('collector', found),
    ...missing.map(queue =>
      warn(
        'collector',
        `${collector.name}: no ${kind} ${queue}`,
        `create it, or remove it from collectors.${collector.name}.${kind}s`,
      ),
    ),
  ]
}
