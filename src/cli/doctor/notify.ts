import type { Config } from '../../config/config.ts'
import { openTarget } from '../notifier.ts'
import { type Check, failWith, ok } from './check.ts'

/** Whether every target can be made of what the config says. Nobody is told anything. */
export async function checkNotify({ notify }: Config): Promise<Check[]> {
  const checks: Check[] = []
  for (const [name, target] of Object.entries(notify?.targets ?? {})) {
    try {
      const sink = await openTarget(target)
      await sink.close?.()
      checks.push(ok('notify', `${name} (${target.type}) can be told`))
    } catch (error) {
      checks.push(failWith('notify', error, `mend notify.targets.${name}`))
    }
  }
  return checks
}
