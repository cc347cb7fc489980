import { isHeld } from '../../src/core/dead-letter/state.ts'
import type { Fact, FactOf, History } from '../history.ts'
import { nameOf } from '../names.ts'
import type { EndedFleet, EndedWorld } from './checker.ts'
import { LONGEST_CALL_MS, wasInterrupted } from './interruptions.ts'

/** A process that has not reported itself for this long is gone for the others. */
const LEASE_MS = 15_000
/** A process that leaves waits this long for its sinks. */
const LEAVE_WAIT_MS = 5_000

/**
 * Every letter of a replay has a way back, although only other processes can send it. Each is sent once, and again only when
 * its sender was interrupted between sending and recording, or held the event and is gone. In the end it is recovered, dead
 * again, or told as skipped; after a cancellation it is dead. No replay stands still: each has ended with the world.
 */
export function* fleetReplays(ended: EndedWorld): Iterable<string> {
  const { fleet, history } = ended
  if (fleet === undefined) return
  for (const each of fleet.replays) {
    yield* endOf(ended, each)
    yield* sends(history, each)
  }
  for (const id of fleet.openReplays) yield `replay ${id} stands still`
  yield* reopened(ended, fleet)
}

type EndedReplay = EndedFleet['replays'][number]
type Send = FactOf<'published'> | FactOf<'resent'>

function* endOf(ended: EndedWorld, { replay, items }: EndedReplay): Iterable<string> {
  const { history, letters } = ended
  const { id, state } = replay
  const planned = history.of('replayPlanned').find(fact => fact.replay === id)
  if (planned === undefined) return
  if (items.length < planned.letters.length) yield `replay ${id} lost items`
  for (const { position, letterId, status, decision, reason } of items) {
    const letter = letters.find(each => each.id === letterId)
    const who = `item ${position} of replay ${id}`
    const isOpen = status === 'waiting' || status === 'sent'
    if (isOpen && state === 'finished') yield `${who} is ${status}, but the replay is finished`
    if (status === 'skipped' && decision !== 'replay' && reason === undefined)
      yield `${who} was skipped without a reason`
    const wasDeleted = history.of('deleted').some(fact => fact.letter === letterId)
    if (letter === undefined && !wasDeleted) yield `${who}: its letter is lost`
    if (letter?.state === 'replaying' && letter.replayId === id) yield `${who}: its letter stays replaying`
    if (status !== 'recovered' || letter === undefined || letter.channel !== 'events') continue
    const event = nameOf(letter.event)
    const isWritten = history
      .of('written')
      .some(({ handler, events }) => handler === letter.handler && events.includes(event))
    if (!isWritten && !isHeld(letter.state)) yield `${who} is recovered, but its sink never got ${event}`
  }
}

/** Each send of an item after its first needs a reason. */
function* sends(history: History, { replay: { id } }: EndedReplay): Iterable<string> {
  const all: readonly Send[] = history
    .of('published', 'resent')
    .filter(fact => fact.replayId === id && fact.by !== undefined)
  for (const [item, own] of Map.groupBy(all, itemOf))
    for (const [index, again] of own.entries()) {
      const before = own[index - 1]
      if (before !== undefined && !mayRepeat(history, id, before, again))
        yield `${item} of replay ${id} was sent by ${before.by} at ${before.at} and again by ${again.by} at ${again.at}`
    }
}

function itemOf(send: Send): string {
  return `${send.event} at ${send.what === 'resent' ? send.sink : send.to}`
}

function mayRepeat(history: History, replay: string, before: Send, again: Send): boolean {
  const { facts } = history
  const by = before.by!
  const between = facts.slice(facts.indexOf(before), facts.indexOf(again))
  const isRecorded = between.some(
    fact =>
      fact.what === 'item' &&
      fact.replay === replay &&
      fact.by === by &&
      fact.handedOn !== undefined &&
      itemOf(before) === `${fact.event} at ${fact.handler}`,
  )
  const span = { fromMs: before.at, untilMs: again.at }
  // The second send began before the first one and hung: the broker has it late.
  const isLate = facts.some(
    fact =>
      fact.what === 'fault' &&
      fact.kind === 'hang' &&
      fact.where === again.by &&
      fact.call === 'publish' &&
      fact.at <= before.at &&
      again.at - fact.at <= LONGEST_CALL_MS,
  )
  if (isLate) return true
  const isOfSend = ({ port, call }: { readonly port: string; readonly call: string }) =>
    (port === 'broker' && call === 'publish') || (port === 'fleet' && call === 'record')
  // The send or its record was interrupted, so nobody else could know of it.
  if (!isRecorded) return wasInterrupted(facts, by, span, isOfSend)
  // The broker has a published event. A process holds the event of a sink, and loses it with its life.
  if (before.what === 'published') return false
  const isGone = wasInterrupted(facts, by, span, () => false) || hasLeft(facts, by, span)
  const lastSeen = history.of('presence').findLast(fact => fact.by === by && fact.at <= again.at)
  return isGone || lastSeen === undefined || again.at - lastSeen.at >= LEASE_MS - 1_000
}

/** Whether it left in order and could not finish: its sink took too long, or the store did not take the outcome. */
function hasLeft(
  facts: readonly Fact[],
  process: string,
  span: { readonly fromMs: number; readonly untilMs: number },
): boolean {
  const left = facts.find(fact => fact.what === 'left' && fact.by === process && fact.at <= span.untilMs)
  if (left?.what !== 'left') return false
  return left.tookMs >= LEAVE_WAIT_MS || wasInterrupted(facts, process, span, ({ port }) => port === 'store')
}

/**
 * A letter without an outcome is left to a person only if a process was interrupted: the one that a command told to send
 * it, the one that held the event of a replay that was cancelled, or the server that ran this replay.
 */
function* reopened({ history }: EndedWorld, { replays }: EndedFleet): Iterable<string> {
  const { facts } = history
  for (const fact of history.of('reopened')) {
    const { event, handler, replayId, at } = fact
    const who = `the letter of ${event} at ${handler}`
    const replay = replays.find(each => each.replay.id === replayId)?.replay
    if (replayId !== undefined && replay?.state !== 'cancelled')
      yield `${who} had no outcome, but its replay ${replayId} is ${replay?.state}`
    const before = facts.slice(0, facts.indexOf(fact))
    const claimedAt = before.findLastIndex(
      each => isChangeOf(each, event, handler) && each.to === 'replaying',
    )
    // The process that claimed it last may have ended before it could send.
    const sender = before
      .slice(claimedAt)
      .find((each): each is FactOf<'resent'> => isSendOf(each, event, handler))
    const claimers = history.of('commandClaimed').filter(({ task: { sink } }) => sink === handler)
    const servers = history.of('item').filter(item => item.replay === replayId && item.event === event)
    const suspects = sender === undefined ? [...claimers, ...servers] : [sender]
    const processes = suspects.flatMap(({ by }) => by ?? [])
    const isOfLetter = ({ port }: { readonly port: string }) =>
      port === 'fleet' || port === 'store' || port === 'server'
    const span = { fromMs: 0, untilMs: at }
    if (!processes.some(process => wasInterrupted(facts, process, span, isOfLetter)))
      yield `${who} had no outcome, but nothing interrupted ${processes.join(' or ') || 'anyone'}`
  }
}

function isChangeOf(fact: Fact, event: string, handler: string): fact is FactOf<'changed'> {
  return fact.what === 'changed' && fact.event === event && fact.handler === handler
}

function isSendOf(fact: Fact, event: string, handler: string): fact is FactOf<'resent'> {
  return fact.what === 'resent' && fact.event === event && fact.sink === handler
}
