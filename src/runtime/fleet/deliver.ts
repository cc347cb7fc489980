import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { advance, IDLE, notBefore, rate } from '../../core/limit/gcra.ts'
import { group } from '../../core/options/resolve.ts'
import { integer, list, number, optional, type Rule, text } from '../../core/options/rules.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Replay, ReplayItem, Replays } from '../../ports/replays.ts'
import { ClosedError } from '../closed-error.ts'
import type { Consumer } from '../consumer/consumer.ts'
import type { Dispatcher } from '../dispatcher/dispatcher.ts'
import { lettersInFlight } from '../dispatcher/letters-in-flight.ts'
import { replayEvent } from '../replay-event.ts'
import { sleep } from '../sleep.ts'
import { dispatchersOf } from './open-parts.ts'

/**
 * The time for which a process may send after it has asked for the delivery. Then another process may have the items. The time
 * begins with the question, because nobody knows how long the answer of the store was on its way.
 */
export const DELIVERY_MS = 4_000
/** A receiver has certainly not taken an event that it refused with this code. */
const UNROUTABLE = 'LAZARET_BROKER_UNROUTABLE'

/** Asks a process to send items of a replay through its consumer or its sink. */
export interface DeliverTask {
  readonly kind: string
  readonly channel: string | undefined
  readonly handler: string | undefined
  readonly broker: string | undefined
  readonly sink: string | undefined
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
  readonly dispatchers: readonly Pick<Dispatcher, 'health' | 'resend' | 'isClosed'>[]
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
  replay: text(),
  delivery: text(),
  positions: list(integer({ min: 0 }), { minItems: 1, maxItems: 1_000 }),
  perSecond: number({ min: 0, above: true }),
})

/** The way to the receiver, and what an item says once the receiver has the event. */
interface Sender {
  readonly record: Pick<ReplayItem, 'handedOn' | 'heldBy'>
  send(letter: DeadLetter, event: LazaretEvent): Promise<void>
}

/**
 * Sends items of a replay from this process, at the rate of the replay. Each item is checked before it is sent, and recorded
 * as handed on right after: only after a crash between the two does another process send it again. A replay that was
 * stopped, or an item that another delivery has taken over, is left alone. `askedAt` is when this process asked for commands.
 */
export async function deliverItems(
  parts: DeliveryParts,
  task: DeliverTask,
  askedAt: number,
): Promise<Delivered> {
  const { replays, letters, clock } = parts
  if (replays === undefined || letters === undefined)
    throw new Error(
      'this process joined the fleet with a store that has no replays; give joinFleet() the whole store',
    )
  const sender = senderFor(parts, task)
  const endsAt = askedAt + DELIVERY_MS
  const pace = rate({ perSecond: task.perSecond, burst: 1 })
  const refused: { readonly position: number; readonly reason: string }[] = []
  let tat = IDLE
  let sent = 0
  for (const position of task.positions) {
    const waitMs = notBefore(pace, tat, clock.now()) - clock.now()
    if (waitMs > 0 && clock.now() + waitMs < endsAt) await sleep(clock, waitMs)
    const due = await dueItem(replays, letters, task, position)
    if (due === 'stopped' || clock.now() >= endsAt || waitMs >= DELIVERY_MS) break
    if (due === undefined) continue
    const { replay, item, letter } = due
    tat = advance(pace, tat, clock.now())
    try {
      await sender.send(letter, replayEvent(letter, replay, item.cycle ?? letter.replays))
    } catch (error) {
      if (!(error instanceof LazaretError) || error.code !== UNROUTABLE) throw error
      refused.push({ position, reason: error.message })
      continue
    }
    await replays.record(task.replay, [{ ...item, ...sender.record }])
    sent++
  }
  return { sent, refused }
}

/** The item if this process is to send it now; undefined if not, and `stopped` if no item of the replay is sent now. */
async function dueItem(
  replays: Pick<Replays, 'get' | 'items'>,
  letters: Pick<DeadLetterStore, 'get'>,
  task: DeliverTask,
  position: number,
): Promise<{ replay: Replay; item: ReplayItem; letter: DeadLetter } | 'stopped' | undefined> {
  const replay = await replays.get(task.replay)
  if (replay?.state !== 'running') return 'stopped'
  const [item] = await replays.items(task.replay, { after: position - 1, limit: 1 })
  if (item?.position !== position || item.status !== 'sent') return undefined
  if (item.delivery !== task.delivery || item.handedOn !== undefined) return undefined
  const letter = await letters.get(item.letterId)
  return letter?.state === 'replaying' && letter.replayId === replay.id ? { replay, item, letter } : undefined
}

function senderFor(parts: DeliveryParts, task: DeliverTask): Sender {
  return task.sink === undefined ? consumerSender(parts, task) : sinkSender(parts, task.sink)
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

function sinkSender({ id, ...parts }: DeliveryParts, sink: string): Sender {
  const [dispatcher] = dispatchersOf(parts, sink)
  if (dispatcher === undefined) throw new Error(`this process has no sink '${sink}'`)
  const underWay = lettersInFlight(dispatcher)
  return {
    // Only this process has the event until its outcome is known.
    record: { handedOn: 'in-process', heldBy: id },
    async send(letter, event) {
      if (underWay.has(letter.id)) return
      // An item is recorded as held by this process only if something here holds it.
      if (dispatcher.isClosed) throw new ClosedError('dispatcher')
      underWay.add(letter.id)
      const isOver = () => void underWay.delete(letter.id)
      void dispatcher.resend({ ...letter, event }).then(isOver, isOver)
    },
  }
}
