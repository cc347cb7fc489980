import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { advance, IDLE, notBefore, rate } from '../../core/limit/gcra.ts'
import { group } from '../../core/options/resolve.ts'
import { integer, list, number, optional, type Rule, text } from '../../core/options/rules.ts'
import { type Clock, monotonicNow, settlesWithin } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { ReplayItem, Replays } from '../../ports/replays.ts'
import { ClosedError } from '../closed-error.ts'
import type { Consumer } from '../consumer/consumer.ts'
import type { Dispatcher } from '../dispatcher/dispatcher.ts'
import { type LetterHold, underHold } from '../dispatcher/letter-hold.ts'
import { lettersInFlight } from '../dispatcher/letters-in-flight.ts'
import { replayEvent } from '../replay-event.ts'
import { sleep } from '../sleep.ts'
import { ItemHold } from './item-hold.ts'
import { dispatchersOf, isOpen } from './open-parts.ts'
import type { TaskContext } from './task-context.ts'

/**
 * The time for which a process may send after it has asked for the delivery. Then another process may have the items. The time
 * begins with the question, because nobody knows how long the answer of the store was on its way.
 */
export const DELIVERY_MS = 4_000
/** The least time that the receiver of a letter has to accept it. */
const RECEIVER_MS = 30_000
/**
 * A process waits for its receiver until this long after it has asked for the delivery. Then it gives up and says so: others
 * must know when nothing is under way any more. An event whose publish was given up may still arrive.
 */
export const GIVE_UP_MS = DELIVERY_MS + RECEIVER_MS
const GIVEN_UP = `the broker did not answer within ${RECEIVER_MS / 1_000} s; the event may still arrive`
/** How often a process tries to record what it sent. */
const RECORD_EVERY_MS = 500
/** A receiver has certainly not taken an event that it refused with this code. */
const UNROUTABLE = 'LAZARET_BROKER_UNROUTABLE'

/** Asks a process to send items of a replay through its consumer or its sink. */
export interface DeliverTask {
  readonly kind: string
  readonly channel: string | undefined
  readonly handler: string | undefined
  readonly broker: string | undefined
  readonly sink: string | undefined
  /** The channel of a dispatcher, for letters that go to all its sinks. */
  readonly everySinkOf: string | undefined
  readonly replay: string
  /** The id of the delivery. An item that names another one belongs to somebody else. */
  readonly delivery: string
  readonly positions: readonly number[]
  readonly perSecond: number
}

/** What a process answers. The items themselves say which of them were handed on. */
export interface Delivered {
  readonly sent: number
  /** Items that the receiver refused for good. */
  readonly refused: readonly { readonly position: number; readonly reason: string }[]
}

/** The parts of a process that send letters. */
export interface DeliveryParts {
  /** The id of this process in the fleet. */
  readonly id: string
  readonly consumers: readonly Consumer[]
  readonly dispatchers: readonly (Pick<Dispatcher, 'health' | 'resend' | 'isClosed'> &
    Partial<Pick<Dispatcher, 'channel'>>)[]
  readonly letters: Pick<DeadLetterStore, 'get'> | undefined
  readonly replays: Pick<Replays, 'get' | 'items' | 'record'> | undefined
  readonly clock: Clock
}

export const deliverRule: Rule<DeliverTask> = group({
  kind: text(),
  channel: optional(text()),
  handler: optional(text()),
  broker: optional(text()),
  sink: optional(text()),
  everySinkOf: optional(text()),
  replay: text(),
  delivery: text(),
  positions: list(integer({ min: 0 }), { minItems: 1, maxItems: 1_000 }),
  perSecond: number({ min: 0, above: true }),
})

/** The way to the receiver, and what an item says once the receiver has the event. */
interface Sender {
  readonly record: Pick<ReplayItem, 'handedOn' | 'heldBy'>
  send(letter: DeadLetter, event: LazaretEvent, hold: LetterHold): Promise<void>
}

/**
 * Sends items of a replay from this process, at the rate of the replay. Each item is checked right before it is sent, and
 * recorded as handed on right after. Another process sends it again only if this one crashes between the two, or if the store
 * refuses the record until the delivery is over or this process leaves. A replay that was stopped, or an item that another
 * delivery has taken over, is left alone. A process that leaves sends no further item. A receiver that does not answer in time
 * ends the delivery.
 */
export async function deliverItems(
  parts: DeliveryParts,
  task: DeliverTask,
  { askedAt, signal }: Pick<TaskContext, 'askedAt' | 'signal'>,
): Promise<Delivered> {
  const { replays, letters, clock } = parts
  if (replays === undefined || letters === undefined)
    throw new Error(
      'this process joined the fleet with a store that has no replays; give joinFleet() the whole store',
    )
  const sender = senderFor(parts, task)
  const leftMs = (limitMs: number) => askedAt + limitMs - monotonicNow(clock)
  const pace = rate({ perSecond: task.perSecond, burst: 1 })
  const refused: { readonly position: number; readonly reason: string }[] = []
  let tat = IDLE
  let sent = 0
  for (const position of task.positions) {
    const now = monotonicNow(clock)
    const waitMs = notBefore(pace, tat, now) - now
    if (waitMs > 0 && waitMs < leftMs(DELIVERY_MS)) await sleep(clock, waitMs, signal).catch(() => {})
    if (signal.aborted) break
    const replay = await replays.get(task.replay)
    if (replay?.state !== 'running') break
    const hold = new ItemHold(replays, letters, { ...task, position }, clock)
    const due = await hold.read()
    if (leftMs(DELIVERY_MS) <= 0 || waitMs >= DELIVERY_MS || signal.aborted) break
    if (due === undefined || due.item.handedOn !== undefined || !hold.isSure) continue
    const { item, letter } = due
    tat = advance(pace, tat, monotonicNow(clock))
    try {
      const sending = sender.send(letter, replayEvent(letter, replay, item.cycle ?? letter.replays), hold)
      if (!(await settlesWithin(clock, leftMs(GIVE_UP_MS), sending))) throw new Error(GIVEN_UP)
      await sending
    } catch (error) {
      if (!(error instanceof LazaretError) || error.code !== UNROUTABLE) throw error
      refused.push({ position, reason: error.message })
      continue
    }
    await writeUntil(clock, askedAt + GIVE_UP_MS, signal, () =>
      replays.record(task.replay, [{ ...item, ...sender.record }], {
        delivery: task.delivery,
        status: 'sent',
      }),
    )
    sent++
  }
  return { sent, refused }
}

/**
 * Repeats a write that the store refuses, until this time of the clock that never steps. A process that leaves tries once more.
 */
async function writeUntil(
  clock: Clock,
  endMs: number,
  signal: AbortSignal,
  write: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      await write()
      return
    } catch (error) {
      if (signal.aborted || endMs - monotonicNow(clock) < RECORD_EVERY_MS) throw error
    }
    await sleep(clock, RECORD_EVERY_MS, signal).catch(() => {})
  }
}

function senderFor(parts: DeliveryParts, task: DeliverTask): Sender {
  return task.sink === undefined && task.everySinkOf === undefined
    ? consumerSender(parts, task)
    : sinkSender(parts, task)
}

function consumerSender({ consumers }: DeliveryParts, { channel, handler, broker }: DeliverTask): Sender {
  const consumer = consumers.find(each => {
    const health = each.health()
    return (
      !each.isClosed &&
      health.channel === channel &&
      (handler ?? health.handler) === health.handler &&
      (broker ?? each.brokerName) === each.brokerName
    )
  })
  if (consumer === undefined) throw new Error(`this process has no consumer of ${channel}/${handler ?? '*'}`)
  return { record: { handedOn: 'durable' }, send: (_, event) => consumer.publish([event]) }
}

function sinkSender({ id, ...parts }: DeliveryParts, { sink, everySinkOf }: DeliverTask): Sender {
  const [dispatcher] =
    sink === undefined
      ? parts.dispatchers.filter(each => isOpen(each) && each.channel === everySinkOf)
      : dispatchersOf(parts, sink)
  if (dispatcher === undefined)
    throw new Error(
      sink === undefined
        ? `this process has no dispatcher of ${everySinkOf}`
        : `this process has no sink '${sink}'`,
    )
  return {
    // Only this process has the event until its outcome is known.
    record: { handedOn: 'in-process', heldBy: id },
    async send(letter, event, hold) {
      // An item is recorded as held by this process only if something here holds it.
      if (dispatcher.isClosed) throw new ClosedError('dispatcher')
      const resend = () => dispatcher.resend(underHold({ ...letter, event }, hold))
      void lettersInFlight(dispatcher)
        .send(letter.id, hold, resend)
        ?.catch(() => {})
    },
  }
}
