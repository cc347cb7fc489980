import type { Chance } from './chance.ts'
import { drawHandler } from './draw-handlers.ts'
import {
  type Extras,
  type FollowUpPlan,
  type ForgeryKind,
  type ForgeryPlan,
  NO_EXTRAS,
  type UserFunction,
} from './extras.ts'
import type { EventKind, EventPlan, HandlerPlan } from './plan.ts'

/** The share of worlds with extras, and the share of those that have each extra. */
const HAS_EXTRAS = 0.4
const HAS_EACH = 0.3
const MOST_HANDLERS = 4
const EXTRA_NAMES = ['bill', 'stock', 'report']

const FORGERIES: readonly ForgeryKind[] = ['names-letter', 'copies-event', 'half-filled', 'names-itself']
const FUNCTIONS: readonly UserFunction[] = [
  'backoff',
  'random',
  'classify',
  'filter',
  'observer',
  'schema',
  'notifier',
  'sink-answer',
  'thrown',
]
/** Event kinds that affect only the handler, so that one event can have a different kind for another handler. */
const HANDLER_KINDS: readonly EventKind[] = [
  'valid',
  'valid',
  'fails-permanently',
  'fails-alike',
  'fails-transiently',
]

export function drawExtras(chance: Chance, base: readonly HandlerPlan[], faultPhaseMs: number): Extras {
  if (!chance.maybe(HAS_EXTRAS)) return NO_EXTRAS
  const handlers = chance.maybe(HAS_EACH) ? drawMoreHandlers(chance, base) : []
  return {
    handlers,
    followUps: chance.maybe(HAS_EACH) ? drawFollowUps(chance, base) : undefined,
    lateShare: chance.maybe(HAS_EACH) ? chance.pick([0.1, 0.3, 0.6]) : 0,
    forgeries: chance.maybe(HAS_EACH) ? drawForgeries(chance, faultPhaseMs) : [],
    replaysAtMs: Array.from({ length: chance.int(0, 3) }, () => chance.int(faultPhaseMs / 4, faultPhaseMs)),
    retentionMs: chance.maybe(HAS_EACH) ? chance.pick([1_000, 20_000]) : undefined,
    broken: chance.maybe(HAS_EACH)
      ? {
          functions: FUNCTIONS.filter(() => chance.maybe(0.3)),
          rate: chance.pick([0.1, 0.3, 1]),
        }
      : undefined,
  }
}

function drawMoreHandlers(chance: Chance, base: readonly HandlerPlan[]): readonly HandlerPlan[] {
  const channel = chance.pick(base).channel
  const there = base.filter(each => each.channel === channel).length
  return EXTRA_NAMES.slice(0, chance.int(1, MOST_HANDLERS - there)).map(name =>
    drawHandler(chance, channel, name),
  )
}

function drawFollowUps(chance: Chance, base: readonly HandlerPlan[]): FollowUpPlan {
  return {
    to: chance.pick(base).channel,
    share: chance.pick([0.3, 1]),
    eventKinds: chance.maybe(0.5) ? ['valid'] : HANDLER_KINDS,
  }
}

/** Most forgeries come in the second half, when there are letters to forge replays of. */
function drawForgeries(chance: Chance, faultPhaseMs: number): readonly ForgeryPlan[] {
  return Array.from({ length: chance.int(1, 4) }, () => ({
    kind: chance.pick(FORGERIES),
    atMs: chance.maybe(0.7) ? chance.int(faultPhaseMs / 2, faultPhaseMs) : chance.int(0, faultPhaseMs),
  }))
}

/** An extra handler can fail on an event that the others handle, and vice versa. */
export function withKindByHandler(
  chance: Chance,
  events: readonly EventPlan[],
  extra: readonly HandlerPlan[],
): readonly EventPlan[] {
  if (extra.length === 0) return events
  return events.map(event => {
    const own = extra.filter(({ channel }) => channel === event.channel)
    return {
      ...event,
      kindByHandler: Object.fromEntries(own.map(({ name }) => [name, chance.pick(HANDLER_KINDS)])),
    }
  })
}
