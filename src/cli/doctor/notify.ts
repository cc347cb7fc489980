import type { Config } from '../../config/config.ts'
import { STORE_ALERT_KINDS } from '../../core/alert/alert.ts'
import { isRouted } from '../../integrations/notify/deliveries.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Sink } from '../../ports/sink.ts'
import { openTarget } from '../notifier.ts'
import { type Check, failWith, ok, warn } from './check.ts'

const TIMEOUT_MS = 10_000
/** These types can be probed without sending an alert, and their client may not be installed. */
const PROBED_TYPES: readonly string[] = ['email', 'sentry']

/** Checks the options of every target, and logs in where that is possible. It sends no alert. */
export async function checkNotify({ notify }: Config, clock: Clock): Promise<Check[]> {
  const checks: Check[] = []
  for (const [name, target] of Object.entries(notify?.targets ?? {})) {
    try {
      const sink = await openTarget(target)
      try {
        if (PROBED_TYPES.includes(target.type)) await probe(sink, clock)
      } finally {
        await sink.close?.()
      }
      checks.push(ok('notify', `${name} (${target.type}) is ready`))
    } catch (error) {
      checks.push(failWith('notify', error, `fix notify.targets.${name} in the config`))
    }
  }
  return checks
}

async function probe(sink: Sink, clock: Clock): Promise<void> {
  const stop = new AbortController()
  const cancel = clock.schedule(TIMEOUT_MS, () =>
    stop.abort(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)),
  )
  try {
    await sink.probe?.({ signal: stop.signal })
  } finally {
    cancel()
  }
}

/** The alerts that a server sends by itself. */
const SERVER_KINDS = ['channel_alert', ...STORE_ALERT_KINDS] as const

/** Warns of targets that no alert of the server reaches. */
export function checkRoutes({ notify }: Config): Check[] {
  return Object.entries(notify?.targets ?? {}).flatMap(([name, { type, ...route }]) => {
    const isBackup = route.kinds?.includes('alert_undelivered') === true
    if (SERVER_KINDS.some(kind => isRouted(route, kind))) return []
    if (isBackup && isRouted(route, 'alert_undelivered')) return []
    return warn(
      'notify',
      `${name} (${type}) never receives an alert about a channel over its limit (kind channel_alert, severity warning)`,
      `set atLeast of notify.targets.${name} to warning or remove it, and add channel_alert to its kinds`,
    )
  })
}
