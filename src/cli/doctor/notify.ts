import type { Config } from '../../config/config.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Sink } from '../../ports/sink.ts'
import { openTarget } from '../notifier.ts'
import { type Check, failWith, ok } from './check.ts'

const PATIENCE_MS = 10_000
/** They can be asked without anybody being told anything, and have a client that may not be installed. */
const ASKED: readonly string[] = ['email', 'sentry']

/** Whether every target can be made of what the config says, and lets us in where that can be asked. Nobody is told anything. */
export async function checkNotify({ notify }: Config, clock: Clock): Promise<Check[]> {
  const checks: Check[] = []
  for (const [name, target] of Object.entries(notify?.targets ?? {})) {
    try {
      const sink = await openTarget(target)
      try {
        if (ASKED.includes(target.type)) await ask(sink, clock)
      } finally {
        await sink.close?.()
      }
      checks.push(ok('notify', `${name} (${target.type}) can be told`))
    } catch (error) {
      checks.push(failWith('notify', error, `mend notify.targets.${name}`))
    }
  }
  return checks
}

async function ask(sink: Sink, clock: Clock): Promise<void> {
  const stop = new AbortController()
  const cancel = clock.schedule(PATIENCE_MS, () =>
    stop.abort(new Error(`it did not answer for ${PATIENCE_MS / 1_000} s`)),
  )
  try {
    await sink.probe?.({ signal: stop.signal })
  } finally {
    cancel()
  }
}
