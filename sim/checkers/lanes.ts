import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { EVERY_SINK } from '../../src/runtime/dispatcher/track/entry-limit.ts'
import type { FactOf } from '../history.ts'
import type { SinkPlan } from '../plan.ts'
import { type EndedWorld, groupBy } from './checker.ts'
import { sinksOf } from './sinks.ts'

/**
 * Each lane respects its limits: events in the buffer, concurrent writes, events in a batch, attempts for an event,
 * and retries in a time window. The reason of each of its letters matches its options. The limits protect memory and
 * the receiver, also during an outage.
 */
export function* lanes(ended: EndedWorld): Iterable<string> {
  for (const [consumer, writes] of groupBy(ended.history.of('writing'), 'consumer')) {
    const [process, name] = consumer.split('/') as [string, string]
    const sink = sinksOf(ended, process).find(each => each.name === name)!
    for (const { events, inFlight, buffered } of writes) {
      if (events.length > sink.batch.maxCount)
        yield `${consumer} wrote a batch of ${events.length}; ${sink.batch.maxCount} are allowed`
      if (inFlight > sink.concurrency)
        yield `${consumer} has ${inFlight} concurrent writes; ${sink.concurrency} are allowed`
      if (buffered > sink.buffer.maxEvents)
        yield `${consumer} has ${buffered} events in its buffer; ${sink.buffer.maxEvents} are allowed`
    }
    yield* attemptsOf(
      ended,
      consumer,
      sink,
      writes.filter(write => !isSplit(ended, write)),
    )
    if (ended.history.of('jumped').length === 0) yield* paceOf(ended, consumer, sink)
  }
  for (const letter of ended.letters) if (letter.channel === 'events') yield* reasonOf(ended, letter)
}

/** A lane writes a batch that was refused as a whole again at once, in halves. The refused write does not count as an attempt. */
function isSplit({ history }: EndedWorld, { write, events }: FactOf<'writing'>): boolean {
  return events.length > 1 && history.of('refusedAll').some(refused => refused.write === write)
}

function* attemptsOf(
  ended: EndedWorld,
  consumer: string,
  sink: SinkPlan,
  writes: readonly FactOf<'writing'>[],
): Iterable<string> {
  const counts = new Map<string, number>()
  for (const { events } of writes) for (const event of events) counts.set(event, (counts.get(event) ?? 0) + 1)
  for (const [event, count] of counts) {
    // Retention may have deleted a resolved letter.
    const resent = ended.history
      .of('resent')
      .filter(fact => fact.event === event && [sink.name, EVERY_SINK].includes(fact.sink)).length
    const letter = ended.letters.find(each => each.event.id === event && each.handler === sink.name)
    const cycles = 1 + Math.max(letter?.replays ?? 0, resent)
    if (count > sink.retry.attempts * cycles)
      yield `${consumer} wrote ${event} ${count} times; ${sink.retry.attempts * cycles} are allowed`
  }
}

/** In any time window, the lane writes at most as many events again as the limit allows. */
function* paceOf(ended: EndedWorld, consumer: string, { retryLimit }: SinkPlan): Iterable<string> {
  if (retryLimit === 'off') return
  const { perSecond = 100, batch } = retryLimit
  const most = batch?.size ?? Math.max(1, Math.floor(perSecond))
  const withinMs = batch?.everyMs ?? (most * 1_000) / perSecond
  const seen = new Set<string>()
  const retries: { at: number; count: number }[] = []
  for (const fact of ended.history.of('writing', 'resent')) {
    // A replayed event begins again.
    if (fact.what === 'resent') seen.delete(fact.event)
    else if (fact.consumer === consumer) {
      retries.push({ at: fact.at, count: fact.events.filter(event => seen.has(event)).length })
      for (const event of fact.events)
        if (isSplit(ended, fact)) seen.delete(event)
        else seen.add(event)
    }
  }
  for (const { at: from } of retries) {
    const count = retries
      .filter(({ at }) => at >= from && at < from + withinMs)
      .reduce((sum, each) => sum + each.count, 0)
    if (count > most) {
      yield `${consumer} wrote ${count} retries within ${withinMs} ms of ${from}; ${most} are allowed`
      return
    }
  }
}

function* reasonOf({ plan, history }: EndedWorld, letter: DeadLetter): Iterable<string> {
  const { event, handler, cycle } = letter
  const machine = plan.machines.find(({ name }) => name === plan.tracks.get(event.id)?.machine)
  const sink = machine?.emitter?.sinks.find(({ name }) => name === handler)
  const isConsistent = {
    attempts_exhausted: cycle.attemptCount === sink?.retry.attempts,
    permanent: plan.tracks.get(event.id)?.eventKind === 'fails-permanently',
    expired: plan.tracks.get(event.id)?.eventKind === 'expires-soon',
    breaker_open: sink?.whenOpen === 'dead-letter',
    // A replayed event is never dropped.
    buffer_full: sink !== undefined && (sink.buffer.overflow !== 'drop-newest' || cycle.number > 0),
    rate_limited: machine?.emitter?.rateLimit !== undefined,
    retry_limited: sink !== undefined && sink.retryLimit !== 'off',
    shutdown: history.of('machineClosing').some(closing => closing.machine.startsWith(`${machine?.name}.`)),
  }[cycle.reason as string]
  if (isConsistent !== true)
    yield `letter of ${event.id} at ${handler}: its options do not explain the reason ${cycle.reason}`
  if (cycle.attempts.length > cycle.attemptCount)
    yield `letter of ${event.id} at ${handler}: it lists more attempts than were made`
}
