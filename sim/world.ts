import type { BreakerOptions } from '../src/core/breaker/options.ts'
import type { RetryLimitOptions } from '../src/core/limit/options.ts'
import type { Backoff } from '../src/core/retry/backoff.ts'
import type { BudgetOptions } from '../src/core/retry/budget.ts'
import { Chance } from './chance.ts'
import { drawEmitter, drawTracks } from './draw-emitters.ts'
import { drawExtras, withFates } from './draw-extras.ts'
import { type Deed, drawDeeds, drawWeather } from './draw-faults.ts'
import { drawEvents, drawHandlers } from './draw-world.ts'
import type { Extras } from './extras.ts'
import type { Weather } from './faults.ts'

/**
 * What an event is by nature, whatever the weather.
 * - `fine`: its handler can handle it.
 * - `hopeless`: fails for good, at once. `stubborn`: fails the same way every time. `sickly`: as if its dependency were
 *   down, for it alone, every time. `killer`: takes its process down.
 * - `misshapen`: does not fit its schema. `stale`: expires soon. `garbled`: is no event at all.
 */
export type Nature =
  | 'fine'
  | 'hopeless'
  | 'stubborn'
  | 'sickly'
  | 'killer'
  | 'misshapen'
  | 'stale'
  | 'garbled'

export interface EventPlan {
  readonly name: string
  readonly channel: string
  readonly nature: Nature
  readonly key: string | undefined
  readonly idempotencyKey: string
  readonly publishMs: number
  readonly lifeMs: number | undefined
  /** The filter of handlers that have one does not keep its letter. */
  readonly unworthy: boolean
  /** Published by the producer, and not by a handler or a stranger. */
  readonly isPlanned: boolean
  /** What it is by nature to a certain handler, where that differs. */
  readonly fates?: { readonly [handler: string]: Nature }
}

/** A handler: consumers in several processes share its queue. */
export interface HandlerPlan {
  readonly name: string
  readonly channel: string
  readonly ordering: 'none' | 'by-key'
  readonly retry: { readonly attempts: number; readonly backoff: Backoff }
  readonly breaker: BreakerOptions | 'off'
  readonly whenOpen: 'pause' | 'retry-later' | 'dead-letter'
  readonly retryLimit: RetryLimitOptions | undefined
  readonly budget: BudgetOptions | undefined
  readonly poison: { readonly repeats: number; readonly windowMs: number; readonly crashes: number } | 'off'
  readonly timeoutMs: number
  readonly concurrency: number
  readonly prefetch: number
  readonly inProcessWaitMs: number
  readonly graceMs: number
  readonly hasSchema: 'no' | 'sync' | 'async'
  readonly hasFilter: boolean
}

/** A sink, as one dispatcher writes to it. */
export interface SinkPlan {
  readonly name: string
  readonly retry: { readonly attempts: number; readonly backoff: Backoff }
  readonly breaker: BreakerOptions | 'off'
  readonly whenOpen: 'dead-letter' | 'wait'
  readonly retryLimit: RetryLimitOptions | 'off'
  readonly timeoutMs: number
  readonly concurrency: number
  readonly batch: { readonly maxCount: number; readonly maxWaitMs: number }
  readonly buffer: { readonly maxEvents: number; readonly overflow: 'dead-letter' | 'drop-newest' | 'block' }
  readonly hasProbe: boolean
}

export interface EmitterPlan {
  readonly sinks: readonly SinkPlan[]
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | undefined
  readonly hasJournal: boolean
  readonly hasFilter: boolean
  readonly graceMs: number
  readonly checkEveryMs: number | 'off'
}

/** An event that the process on a machine tracks. */
export interface TrackPlan {
  readonly name: string
  readonly machine: string
  readonly atMs: number
  readonly nature: 'fine' | 'hopeless' | 'stale'
  readonly isCritical: boolean
  readonly wait: 'outcome' | 'accepted'
  readonly onFailure: 'throw' | 'swallow'
  readonly unworthy: boolean
}

export interface MachinePlan {
  readonly name: string
  readonly handlers: readonly HandlerPlan[]
  readonly emitter: EmitterPlan | undefined
}

/** A small world, drawn whole from its seed. */
export interface Plan {
  readonly seed: number
  /** How long faults last. */
  readonly stormMs: number
  readonly handlers: readonly HandlerPlan[]
  readonly machines: readonly MachinePlan[]
  readonly events: ReadonlyMap<string, EventPlan>
  readonly tracks: ReadonlyMap<string, TrackPlan>
  readonly hasLedger: boolean
  /** A store with its operating side, one to which can only be written, or the broker's own dead-letter place. */
  readonly letters: 'store' | 'queue' | 'broker'
  readonly hasSpill: boolean
  /** Whether retries can wait in the broker. */
  readonly brokerDelays: boolean
  readonly weather: Weather
  readonly deeds: readonly Deed[]
  readonly extras: Extras
}

export function drawPlan(seed: number): Plan {
  const chance = new Chance(seed, 1)
  const stormMs = chance.pick([5_000, 20_000, 60_000])
  const base = drawHandlers(chance)
  const extraChance = new Chance(seed, 9)
  const extras = drawExtras(extraChance, base, stormMs)
  const handlers = [...base, ...extras.handlers]
  const machineCount = chance.int(1, 3)
  const emitting = new Chance(seed, 8)
  const machines = Array.from({ length: machineCount }, (_, index) => ({
    name: `m${index + 1}`,
    // The first runs them all, so that no handler is without a consumer.
    handlers:
      index === 0
        ? handlers
        : [...base.filter(() => chance.maybe(0.7)), ...extras.handlers.filter(() => extraChance.maybe(0.7))],
    emitter: emitting.maybe(0.25) ? drawEmitter(emitting) : undefined,
  })).filter(machine => machine.handlers.length > 0)
  const letters = chance.pick(['store', 'store', 'store', 'queue', 'broker'] as const)
  return {
    seed,
    stormMs,
    handlers,
    machines,
    events: new Map(
      withFates(extraChance, drawEvents(chance, base, stormMs), extras.handlers).map(event => [
        event.name,
        event,
      ]),
    ),
    tracks: new Map(drawTracks(emitting, machines, stormMs).map(track => [track.name, track])),
    hasLedger: chance.maybe(0.5),
    letters,
    hasSpill: letters !== 'broker' && chance.maybe(0.6),
    brokerDelays: chance.maybe(0.85),
    weather: drawWeather(new Chance(seed, 2), stormMs, handlers),
    deeds: drawDeeds(new Chance(seed, 3), stormMs, machines),
    extras,
  }
}
