import { exponential } from '../src/core/retry/exponential.ts'
import { fixed } from '../src/core/retry/fixed.ts'
import type { Chance } from './chance.ts'
import type { EventKind, EventPlan, HandlerPlan } from './plan.ts'

const BAD_KINDS: readonly EventKind[] = [
  'fails-permanently',
  'fails-alike',
  'fails-transiently',
  'crashes-process',
  'schema-mismatch',
  'expires-soon',
  'undecodable',
]

/** Handlers for one or two channels. A channel may have two handlers, and each gets every event. */
export function drawHandlers(chance: Chance): readonly HandlerPlan[] {
  const handlers = [drawHandler(chance, 'orders', 'orders')]
  if (chance.maybe(0.15)) handlers.push(drawHandler(chance, 'orders', 'audit'))
  if (chance.maybe(0.35)) handlers.push(drawHandler(chance, 'mails', 'mails'))
  return handlers
}

export function drawHandler(chance: Chance, channel: string, name: string): HandlerPlan {
  const concurrency = chance.pick([1, 1, 2, 3, 5, 10])
  const poison = {
    repeats: chance.int(2, 4),
    windowMs: chance.pick([1_000, 60_000]),
    crashes: chance.int(1, 3),
  }
  return {
    name,
    channel,
    ordering: chance.maybe(0.4) ? 'by-key' : 'none',
    // The last attempt is often also the one that makes the event poison, because that combination is risky.
    retry: { attempts: chance.maybe(0.3) ? poison.repeats : chance.int(1, 6), backoff: drawBackoff(chance) },
    breaker: chance.maybe(0.25) ? 'off' : drawBreaker(chance),
    whenOpen: chance.pick(['pause', 'pause', 'pause', 'retry-later', 'dead-letter']),
    retryLimit: chance.maybe(0.4) ? drawRetryLimit(chance) : undefined,
    budget: chance.maybe(0.15)
      ? { ratio: chance.pick([0, 0.2, 1]), floorPerSecond: chance.pick([0, 1, 10]), windowMs: 10_000 }
      : undefined,
    poison: chance.maybe(0.15) ? 'off' : poison,
    timeoutMs: chance.pick([100, 500, 2_000]),
    concurrency,
    prefetch: concurrency + chance.pick([0, 1, 5, 20]),
    inProcessWaitMs: chance.pick([0, 100, 100, 2_000]),
    graceMs: chance.pick([0, 50, 1_000, 10_000]),
    hasSchema: chance.pick(['no', 'no', 'sync', 'async']),
    hasFilter: chance.maybe(0.15),
  }
}

export function drawBackoff(chance: Chance) {
  const baseMs = chance.pick([1, 20, 100, 500, 2_000])
  return chance.maybe(0.5)
    ? fixed({ delayMs: baseMs, jitter: chance.pick(['none', 'full'] as const) })
    : exponential({ baseMs, maxMs: baseMs * 8, jitter: chance.pick(['none', 'full', 'equal'] as const) })
}

export function drawBreaker(chance: Chance) {
  return {
    failures: chance.pick([1, 2, 3, 5]),
    openMs: chance.pick([200, 1_000, 5_000, 30_000]),
    successes: chance.int(1, 3),
    probes: chance.pick([1, 1, 2]),
    ...(chance.maybe(0.2) ? { failureRate: { threshold: 0.5, windowMs: 10_000, minimumCalls: 4 } } : {}),
  }
}

export function drawRetryLimit(chance: Chance) {
  const onLimit = chance.pick(['delay', 'delay', 'delay', 'drop', 'dead-letter'] as const)
  if (chance.maybe(0.25))
    return { onLimit, batch: { size: chance.int(1, 3), everyMs: chance.pick([500, 2_000]) } }
  return {
    onLimit,
    perSecond: chance.pick([1, 2, 5, 20]),
    jitterRatio: chance.pick([0, 0, 1.5]),
    ...(chance.maybe(0.2) ? { maxWaitMs: chance.pick([200, 5_000]) } : {}),
  }
}

/** Mostly valid events, published in bursts, with a few keys. */
export function drawEvents(
  chance: Chance,
  handlers: readonly HandlerPlan[],
  faultPhaseMs: number,
): EventPlan[] {
  const channels = [...new Set(handlers.map(({ channel }) => channel))]
  const count = chance.pick([1, 3, 6, 10, 10, 15, 25])
  const badShare = chance.pick([0, 0.1, 0.25, 0.5])
  const eventKinds = BAD_KINDS.filter(() => chance.maybe(0.4))
  const keys = ['k1', 'k2', 'k3'].slice(0, chance.int(1, 3))
  const spanMs = chance.pick([0, faultPhaseMs / 4, faultPhaseMs * 0.8])
  const events: EventPlan[] = []
  for (let index = 1; index <= count; index++) {
    const eventKind = eventKinds.length > 0 && chance.maybe(badShare) ? chance.pick(eventKinds) : 'valid'
    // Two events may share an idempotency key; the ledger lets their effect happen once.
    const twin = chance.maybe(0.05) ? events.at(-1)?.idempotencyKey : undefined
    events.push({
      name: `e${index}`,
      channel: chance.pick(channels),
      eventKind,
      key: chance.maybe(0.7) ? chance.pick(keys) : undefined,
      idempotencyKey: twin ?? `i${index}`,
      publishMs: chance.int(0, spanMs),
      expiresInMs: eventKind === 'expires-soon' ? chance.pick([1, 500, 5_000]) : undefined,
      isFiltered: chance.maybe(0.3),
      isPlanned: true,
    })
  }
  return events.sort((a, b) => a.publishMs - b.publishMs)
}
