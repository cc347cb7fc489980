import type { Config } from '../../config/config.ts'
import { isRouted } from '../../integrations/notify/deliveries.ts'
import { type Check, warn } from './check.ts'

/** Targets that wait for what a server never tells: it tells of channels, and of what could not be told. */
export function checkHearing({ notify }: Config): Check[] {
  return Object.entries(notify?.targets ?? {}).flatMap(([name, { type, ...route }]) => {
    const isBackup = route.kinds?.includes('alert_undelivered') === true
    if (isRouted(route, 'channel_alert') || (isBackup && isRouted(route, 'alert_undelivered'))) return []
    return warn(
      'notify',
      `${name} (${type}) is never told of a channel beyond its limit: that is a channel_alert, a warning`,
      `give notify.targets.${name} atLeast: warning or none, and channel_alert if it has kinds`,
    )
  })
}
