// One process of a fleet: calls that always fail and are retried at once, as many a second as the limit lets through.
// Writes the time of each retry; ends when it is told to.
import { redisLimit } from '../../../src/adapters/redis/index.ts'
import { fixed, resilient, TransientError } from '../../../src/index.ts'
import { systemClock } from '../../../src/ports/clock.ts'

const [url, perSecond, calls] = process.argv.slice(2)

const shared = redisLimit({ url: url!, name: 'fleet' })
const stop = new AbortController()
const say = (line: string) => process.stdout.write(`${line}\n`)

const call = resilient(
  ({ attempt }: { readonly attempt: number }) => {
    if (attempt > 1) say(`retry ${systemClock.now()}`)
    throw new TransientError('the dependency is down')
  },
  {
    name: 'dependency',
    passContext: true,
    retry: { attempts: 1_000_000, backoff: fixed({ delayMs: 1, jitter: 'none' }) },
    retryLimit: { perSecond: Number(perSecond), shared },
    observer: {
      sharedLimitChanged: ({ mode, members }) => say(`${mode} ${systemClock.now()} ${members}`),
    },
  },
)

process.once('SIGTERM', () => stop.abort(new Error('told to end')))
await Promise.allSettled(Array.from({ length: Number(calls) }, () => call.run({ signal: stop.signal })))
await shared.close()
