import type { Cycle, DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { isVerified } from '../../src/core/dead-letter/verify.ts'
import type { LazaretEvent } from '../../src/core/event/event.ts'
import { withoutReplayHeaders } from '../../src/core/event/replay-headers.ts'
import type { UserFunction } from '../extras.ts'
import { PERMANENT_KINDS } from '../handler.ts'
import type { History } from '../history.ts'
import { nameOf } from '../names.ts'
import type { HandlerPlan } from '../plan.ts'
import { type EndedWorld, groupBy } from './checker.ts'

/**
 * A letter has the full history: the event as published, all failed cycles, no more attempts than were made, and a
 * reason that matches the facts. Without interruptions it lists every failure in order. People decide on replays from
 * this history, so it must be true.
 */
export function* letters(ended: EndedWorld): Iterable<string> {
  for (const letter of ended.letters) {
    const handler = ended.plan.handlers.find(({ name }) => name === letter.handler)
    if (handler === undefined) continue
    const who = `letter of ${nameOf(letter.event)} at ${letter.handler}`
    for (const wrong of [
      ...ofEvent(ended, letter),
      ...ofCycles(ended, letter),
      ...ofReason(ended, handler, letter),
    ])
      yield `${who}: ${wrong}`
    yield* ofStory(ended, letter, who)
  }
}

function* ofEvent({ sent }: EndedWorld, { event }: DeadLetter): Iterable<string> {
  const original = sent.get(nameOf(event))
  if (event.type === 'undecodable') return
  // Replay headers belong to the delivery and not to the event.
  const plain = (each: LazaretEvent) =>
    JSON.stringify({ ...each, headers: withoutReplayHeaders(each.headers) })
  if (original === undefined || plain(event) !== plain(original))
    yield `its event differs from the published one: ${JSON.stringify(event)}`
}

function* ofCycles(
  { history, plan }: EndedWorld,
  { id, event, endedCycles, cycle }: DeadLetter,
): Iterable<string> {
  const cycles = [...endedCycles, cycle]
  const numbers = cycles.map(({ number }) => number)
  // A letter that was deleted and saved again has only its later cycles.
  if (history.of('deleted').some(({ letter }) => letter === id)) return
  // The letter has all failed cycles in order, and no successful ones. A spill stores unverified claims of an event;
  // the store verifies them when it gets the letter.
  const saved = history.of('saved').filter(({ letter }) => letter.id === id && isVerified(letter))
  const ended = new Set(saved.map(({ letter }) => letter.cycle.number))
  // Letters in a broker are never replayed; only the forger can set their cycle number.
  const ofBroker = isForged(history, event) ? numbers : [0]
  const expected = plan.letters === 'broker' ? ofBroker : [...ended].sort((a, b) => a - b)
  if (numbers.join() !== expected.join())
    yield `it has the cycles ${numbers}, but the cycles ${expected} failed`
  for (const { attempts, attemptCount, firstFailedAt, lastFailedAt } of cycles) {
    if (attempts.length > attemptCount) yield `it lists ${attempts.length} attempts of ${attemptCount}`
    if (attempts.some(({ number }) => number > attemptCount))
      yield 'an attempt has a number above the attempt count'
    if (firstFailedAt > lastFailedAt && history.of('jumped').length === 0)
      yield 'its last failure is before its first failure'
  }
}

function isForged(history: History, event: LazaretEvent): boolean {
  return history.of('published').some(fact => fact.isForged === true && fact.event === nameOf(event))
}

function* ofReason(ended: EndedWorld, handler: HandlerPlan, letter: DeadLetter): Iterable<string> {
  const { cycle, state, event } = letter
  const isQuarantined = cycle.reason === 'poison' || cycle.reason === 'crash_loop'
  if (isQuarantined && state === 'dead' && !isOpenedByACopy(ended, letter) && !isReleased(ended, letter))
    yield `${cycle.reason} is not quarantined`
  const problem = contradiction(ended, handler, letter, cycle)
  if (problem !== undefined) yield `reason ${cycle.reason}, but ${problem}`
  if (event.key === undefined && letter.origin.queue !== handler.channel) yield 'it does not name its queue'
}

/**
 * After the event was handled, a copy of an earlier cycle failed: the letter is open again because of that copy, and
 * not because of its latest cycle.
 */
function isOpenedByACopy({ history }: EndedWorld, { id, cycle }: DeadLetter): boolean {
  const last = history.of('saved').findLast(({ letter }) => letter.id === id)
  return last !== undefined && last.letter.cycle.number < cycle.number
}

/** A person who reopens a letter makes it dead, whatever it was before its replay. */
function isReleased({ history }: EndedWorld, { event, handler }: DeadLetter): boolean {
  return history.of('reopened').some(fact => fact.event === nameOf(event) && fact.handler === handler)
}

/** The contradiction between the reason and the facts, if any. */
function contradiction(
  ended: EndedWorld,
  handler: HandlerPlan,
  letter: DeadLetter,
  cycle: Cycle,
): string | undefined {
  const { poison, retry, whenOpen, retryLimit, budget } = handler
  const eventKind = ended.plan.events.get(nameOf(letter.event))?.eventKind
  switch (cycle.reason) {
    case 'attempts_exhausted':
      return cycle.attemptCount < retry.attempts
        ? `${cycle.attemptCount} of ${retry.attempts} attempts were made`
        : undefined
    case 'permanent':
      return PERMANENT_KINDS.some(kind => cycle.failure?.message.startsWith(kind))
        ? undefined
        : 'the failure was not permanent'
    case 'poison':
      if (copies(ended, letter, cycle) > 1) return undefined
      return poison !== 'off' && mostAlike(cycle, cycle.attemptCount >= retry.attempts) >= poison.repeats
        ? undefined
        : 'no failure that counts was repeated often enough'
    case 'crash_loop':
      return poison !== 'off' && unended(ended, letter, cycle) >= poison.crashes
        ? undefined
        : 'fewer processes crashed'
    case 'breaker_open':
      return whenOpen === 'dead-letter' ? undefined : 'an open breaker does not create letters here'
    case 'retry_limited':
      return mayDeadLetter(retryLimit, isReplayed(ended, letter, cycle)) ||
        isForged(ended.history, letter.event)
        ? undefined
        : 'no limit creates letters here'
    case 'still_running':
      return cycle.failure?.code === 'LAZARET_TIMEOUT' ? undefined : 'no attempt timed out'
    case 'retry_budget':
      return budget === undefined ? 'there is no budget' : undefined
    case 'expired':
      return eventKind === 'expires-soon' && letter.updatedAt >= letter.event.expiresAt!
        ? undefined
        : 'it had not expired'
    case 'schema':
      return eventKind === 'schema-mismatch' || breaks(ended, 'schema') ? undefined : 'it matches its schema'
    case 'undecodable':
      return eventKind === 'undecodable' ? undefined : 'it can be decoded'
    default:
      return 'no rule has that reason'
  }
}

/**
 * Replays are never dropped. Retention may have deleted the letter that was replayed; if the replay fails after that, its
 * letter is a new one, in its first cycle.
 */
function isReplayed({ history }: EndedWorld, { event }: DeadLetter, { number }: Cycle): boolean {
  return number > 0 || history.of('published').some(fact => fact.replay > 0 && fact.event === nameOf(event))
}

function breaks({ plan }: EndedWorld, name: UserFunction): boolean {
  return plan.extras.broken?.functions.includes(name) ?? false
}

/** The number of copies. Each copy counts its own attempts, and one letter mixes them. */
function copies({ history }: EndedWorld, { event }: DeadLetter, { number }: Cycle): number {
  const ofCycle = history.of('published').filter(({ event: name, replay, isForged }) => {
    // An event that only claims to be a replay fails as the plain event.
    return name === event.id && (replay === number || (isForged === true && number === 0))
  })
  return ofCycle.length
}

/**
 * Whether the retry limit may turn the event into a letter. A limit that drops retries still keeps the letters of
 * replays.
 */
function mayDeadLetter(limit: HandlerPlan['retryLimit'], isReplayed: boolean): boolean {
  if (limit === undefined) return false
  return (
    limit.onLimit === 'dead-letter' ||
    limit.maxWaitMs !== undefined ||
    (limit.onLimit === 'drop' && isReplayed)
  )
}

/** Poison never shortens the retries of a failure that does not blame the event. */
function mostAlike({ attempts }: Cycle, isExhausted: boolean): number {
  const counting = isExhausted ? ['business', 'schema', 'unknown'] : ['business', 'schema']
  const counted = attempts.filter(({ failure }) => counting.includes(failure?.category ?? 'none'))
  const alike = Map.groupBy(counted, ({ failure }) => failure?.fingerprint)
  return Math.max(0, ...[...alike.values()].map(({ length }) => length))
}

/** The number of deliveries with a begun attempt that never ended for the broker. */
function unended({ history }: EndedWorld, { id, handler, event }: DeadLetter, { number }: Cycle): number {
  const name = nameOf(event)
  const mine = history.of('begun', 'settled').filter(fact => fact.handler === handler && fact.event === name)
  const settled = new Set(mine.filter(({ what }) => what === 'settled').map(({ delivery }) => delivery))
  const open = mine.filter(({ delivery }) => !settled.has(delivery))
  const deliveries = (facts: typeof open) => new Set(facts.map(({ delivery }) => delivery)).size
  // A forged copy can count for any cycle of its event.
  if (isForged(history, event)) return deliveries(open)
  // A replay that fails after its letter was deleted begins a new letter, which does not know the earlier cycles.
  if (number === 0 && history.of('deleted').some(({ letter }) => letter === id))
    return Math.max(0, ...[...groupBy(open, 'replay').values()].map(deliveries))
  return deliveries(open.filter(({ replay }) => replay === number))
}

/** For an event that was published once, with every delivery settled: the letter lists every failure in order. */
function* ofStory(ended: EndedWorld, { handler, event, cycle }: DeadLetter, who: string): Iterable<string> {
  const { history } = ended
  const name = nameOf(event)
  if (history.of('published').filter(fact => fact.event === name).length !== 1) return
  // An async schema is part of the attempt, so the attempt can end before the handler starts.
  const { hasSchema } = ended.plan.handlers.find(each => each.name === handler)!
  const isMismatch = ended.plan.events.get(name)?.eventKind === 'schema-mismatch'
  if (breaks(ended, 'schema') || (hasSchema === 'async' && isMismatch)) return
  const isMine = (fact: { readonly event: string; readonly handler: string }) =>
    fact.event === name && fact.handler === handler
  const given = groupBy(history.of('delivered', 'settled').filter(isMine), 'delivery')
  if ([...given.values()].some(({ length }) => length !== 2)) return
  if (history.of('aborted').some(isMine)) return
  // An async schema rejects inside an attempt, before the handler can throw.
  if (cycle.reason === 'schema') return
  const failures = history.of('threw').filter(isMine)
  const recorded = cycle.attempts.map(({ failure }) => failure?.message ?? '')
  const areEqual = failures.every(
    ({ kind, run }, index) =>
      kind === 'throws-undefined' ||
      kind === 'throws-unreadable' ||
      recorded[index] === `${kind} in run ${run}`,
  )
  if (recorded.length !== failures.length || !areEqual)
    yield `${who}: it lists [${recorded.join(', ')}], but it failed with [${failures.map(({ kind, run }) => `${kind} in run ${run}`).join(', ')}]`
}
