import type { Chance } from './chance.ts'
import { drawBackoff, drawBreaker, drawRetryLimit } from './draw-handlers.ts'
import type { EmitterPlan, MachinePlan, SinkPlan, TrackPlan } from './plan.ts'

export function drawEmitter(chance: Chance): EmitterPlan {
  const names = ['loki', 'sentry', 'http'].slice(0, chance.int(1, 3))
  return {
    sinks: names.map(name => drawSink(chance, name)),
    rateLimit: chance.maybe(0.2) ? { perSecond: chance.pick([1, 5]), burst: chance.pick([1, 3]) } : undefined,
    hasJournal: chance.maybe(0.7),
    hasFilter: chance.maybe(0.15),
    graceMs: chance.pick([0, 50, 1_000, 10_000]),
    checkEveryMs: chance.pick(['off', 500, 5_000] as const),
  }
}

function drawSink(chance: Chance, name: string): SinkPlan {
  return {
    name,
    retry: { attempts: chance.int(1, 5), backoff: drawBackoff(chance) },
    breaker: chance.maybe(0.25) ? 'off' : drawBreaker(chance),
    whenOpen: chance.pick(['dead-letter', 'wait']),
    retryLimit: chance.maybe(0.5) ? drawRetryLimit(chance) : 'off',
    timeoutMs: chance.pick([100, 500, 2_000]),
    concurrency: chance.pick([1, 1, 2]),
    batch: { maxCount: chance.pick([1, 3, 10]), maxWaitMs: chance.pick([0, 0, 50, 1_000]) },
    buffer: {
      maxEvents: chance.pick([1, 2, 5, 1_000]),
      overflow: chance.pick(['dead-letter', 'dead-letter', 'drop-newest', 'block']),
    },
    hasProbe: chance.maybe(0.5),
  }
}

/** Tracked events, in bursts or spread over the fault phase. */
export function drawTracks(
  chance: Chance,
  machines: readonly MachinePlan[],
  faultPhaseMs: number,
): readonly TrackPlan[] {
  const emitters = machines.filter(({ emitter }) => emitter !== undefined)
  if (emitters.length === 0) return []
  const spanMs = chance.pick([10, faultPhaseMs / 4, faultPhaseMs * 0.8])
  const badShare = chance.pick([0, 0, 0.3])
  return Array.from({ length: chance.pick([1, 4, 8, 16]) }, (_, index) => ({
    name: `t${index + 1}`,
    machine: chance.pick(emitters).name,
    atMs: 100 + chance.int(0, spanMs),
    eventKind: chance.maybe(badShare) ? chance.pick(['fails-permanently', 'expires-soon'] as const) : 'valid',
    isCritical: chance.maybe(0.4),
    wait: chance.pick(['outcome', 'accepted'] as const),
    onFailure: chance.pick(['throw', 'swallow'] as const),
    isFiltered: chance.maybe(0.3),
  }))
}
