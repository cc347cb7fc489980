import { REPLAY_HEADERS } from '../core/event/replay-headers.ts'
import { ALERT_CHANNEL, type AlertNotifier } from '../integrations/notify/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Collector } from '../ports/collector.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'

/**
 * The way back of alerts that could not be delivered: a replay of one goes to the target that did not take it. It is
 * handed on when it is in the lane; by its letter it is seen what became of it.
 */
export function alertReplays(notifier: AlertNotifier, deadLetters: DeadLetterStore, clock: Clock): Collector {
  const underWay = new Set<string>()

  async function resend(id: string, work: Promise<unknown>): Promise<void> {
    try {
      await work
      await deadLetters.change(id, { to: 'resolved', at: clock.now() })
    } catch {
      // It is a dead letter again, or will be sent again by whoever goes on with the replay.
    } finally {
      underWay.delete(id)
    }
  }

  return {
    name: ALERT_CHANNEL,
    start() {},
    async stop() {},
    async send(events) {
      for (const event of events) {
        const id = event.headers[REPLAY_HEADERS.letterId] ?? ''
        const letter = underWay.has(id) ? undefined : await deadLetters.get(id)
        if (letter === undefined) continue
        underWay.add(id)
        void resend(id, notifier.resend({ ...letter, event }))
      }
    },
    async depths() {
      return []
    },
    async close() {},
  }
}
