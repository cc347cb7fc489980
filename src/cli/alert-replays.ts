import { ALERT_CHANNEL, type AlertNotifier } from '../integrations/notify/index.ts'
import type { Collector } from '../ports/collector.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import { resends } from '../replay/sink-replays.ts'

/** The way back of alerts that could not be delivered: a replay of one goes to the target that did not take it. */
export function alertReplays(notifier: AlertNotifier, deadLetters: DeadLetterStore): Collector {
  const target = resends(
    {
      resend: letter => notifier.resend(letter),
      has: name => Object.hasOwn(notifier.health().targets, name),
    },
    deadLetters,
  )
  return {
    name: ALERT_CHANNEL,
    start() {},
    async stop() {},
    send: (events, origin) => target.send(events, origin),
    wayBack: (letter, to) => target.wayBack(letter, to),
    async depths() {
      return []
    },
    async close() {},
  }
}
