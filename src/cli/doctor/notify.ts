import type { Config } from '../../config/config.ts'
import type { TargetConfig } from '../../config/notify.ts'
import { isRouted } from '../../integrations/notify/deliveries.ts'
import { openTarget } from '../notifier.ts'
import { type Check, failWith, ok, warn } from './check.ts'

/** Whether every target can be made of what the config says. Nobody is told anything. */
export async function checkNotify({ notify }: Config): Promise<Check[]> {
  const checks: Check[] = []
  for (const [name, target] of Object.entries(notify?.targets ?? {})) {
    try {
      const sink = await openTarget(target)
      await sink.close?.()
      checks.push(hears(name, target))
    } catch (error) {
      checks.push(failWith('notify', error, `mend notify.targets.${name}`))
    }
  }
  return checks
}

/** A server tells of channels, and of what could not be told: a target that waits for anything graver hears nothing. */
function hears(name: string, target: TargetConfig): Check {
  const isBackup = target.kinds?.includes('alert_undelivered') === true
  if (isRouted(target, 'channel_alert') || (isBackup && isRouted(target, 'alert_undelivered')))
    return ok('notify', `${name} (${target.type}) can be told`)
  return warn(
    'notify',
    `${name} (${target.type}) is never told of a channel beyond its limit: that is a channel_alert, a warning`,
    `give notify.targets.${name} atLeast: warning or none, and channel_alert if it has kinds`,
  )
}
