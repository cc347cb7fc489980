import type { IdSource } from '../core/event/uuid.ts'
import type { Clock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import { startReplay } from '../replay/control.ts'
import { ReplayRefusedError } from '../replay/errors.ts'
import { planUnlessEmpty } from '../replay/plan.ts'
import { runReplay } from '../replay/runner.ts'
import type { ReplayEnvironment } from '../replay/target.ts'
import { SCHEMAS } from './shop/contracts.ts'
import type { Shop, ShopStore } from './shop.ts'

const OWNER = 'lazaret demo'
const STAGES = [1, 10, 'rest'] as const
/** One letter in 80 ms: a whole number of milliseconds, which a driven clock shows exactly. */
const PER_SECOND = 12.5

interface ReplayerOptions {
  readonly store: ShopStore
  readonly shop: Shop
  readonly clock: Clock
  readonly newId: IdSource
  readonly observer: Observer
  readonly signal: AbortSignal
}

/** Replays a group as a person at the console does: plans the replay, starts it, and waits for its end. */
export function groupReplayer(options: ReplayerOptions) {
  const { store, shop, clock, newId, observer, signal } = options
  // This process has the schemas and breakers, so the gates can check both.
  const environment: ReplayEnvironment = {
    clock,
    newId,
    schemaOf: channel => (channel in SCHEMAS ? SCHEMAS[channel as keyof typeof SCHEMAS] : undefined),
    downstreamFault(channel) {
      const isFailing = shop.consumers.some(
        consumer => consumer.health().channel === channel && !consumer.breaker?.wouldAdmit(clock.now()),
      )
      return isFailing ? `the breaker of ${channel} is open` : undefined
    },
  }
  return async (group: string, by: string, reason: string): Promise<void> => {
    const request = { filter: { group }, reason, by, stages: STAGES, perSecond: PER_SECOND }
    const plan = await planUnlessEmpty(store, request, environment)
    if (plan === undefined) return
    const { id } = plan
    await startReplay(store, id, { by, clock })
    try {
      await runReplay(store, id, { target: shop.replayTarget, environment, owner: OWNER, observer, signal })
    } catch (error) {
      // The server runs started replays as well; the first runner that claims a replay runs it.
      if (!(error instanceof ReplayRefusedError)) throw error
    }
  }
}
