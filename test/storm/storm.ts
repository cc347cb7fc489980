import { fork } from 'node:child_process'
import { once } from 'node:events'
import { memoryDeadLetters } from '../../src/adapters/memory/index.ts'
import { loki } from '../../src/adapters/sinks/index.ts'
import { createDispatcher, type DispatcherHealth, fixed } from '../../src/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import type { Arrival, Command, ReceiverMessage } from './receiver.ts'

export interface StormPlan {
  /** How many events wait while the sink is down. They come evenly over the first half of that time. */
  readonly waiting: number
  readonly downMs: number
  /** Retries a second, or no limit. */
  readonly limit: number | 'off'
  /** ReceiverMessage of the dispatcher's health from time to time, with the time since the start. */
  readonly watch?: ((health: DispatcherHealth, elapsedMs: number) => void) | undefined
}

export interface StormFigures {
  readonly plan: StormPlan
  /** As the receiver saw them, from its return on. */
  readonly arrivals: readonly Arrival[]
  readonly backAtMs: number
  /** The most that came within any second of the receiver's clock. */
  readonly mostInASecond: number
  /** From the sink's return until the first, and until the last event. */
  readonly firstAfterMs: number
  readonly drainedAfterMs: number
  readonly lost: number
  readonly twice: number
  readonly letters: number
}

const LOOK_EVERY_MS = 250
const SECOND_MS = 1_000

const pause = (ms: number) => new Promise<void>(resolve => systemClock.schedule(ms, resolve))

/** A receiver in a process of its own. */
class Receiver {
  readonly url: string
  readonly #child: ReturnType<typeof fork>

  private constructor(child: ReturnType<typeof fork>, url: string) {
    this.#child = child
    this.url = url
  }

  static async start(): Promise<Receiver> {
    const child = fork(new URL('receiver.ts', import.meta.url))
    const [told] = (await once(child, 'message')) as [{ url: string }]
    return new Receiver(child, told.url)
  }

  async turn(command: 'down' | 'up'): Promise<number> {
    return ((await this.#ask(command)) as { atMs: number }).atMs
  }

  async arrivals(): Promise<readonly Arrival[]> {
    return ((await this.#ask('report')) as { arrivals: readonly Arrival[] }).arrivals
  }

  async #ask(command: Command): Promise<ReceiverMessage> {
    const answered = once(this.#child, 'message') as Promise<[ReceiverMessage]>
    this.#child.send(command)
    return (await answered)[0]
  }

  close(): void {
    this.#child.disconnect()
  }
}

/** Real time and real sockets: the sink is down, events wait, it comes back, and its receiver counts. */
export async function storm(plan: StormPlan): Promise<StormFigures> {
  const { waiting, downMs, limit, watch } = plan
  const receiver = await Receiver.start()
  const deadLetters = memoryDeadLetters()
  const events = createDispatcher({
    sinks: { loki: loki({ url: receiver.url }) },
    deadLetters,
    whenOpen: 'wait',
    retry: { attempts: 100, backoff: fixed({ delayMs: 500 }) },
    retryLimit: limit === 'off' ? 'off' : { perSecond: limit },
    // A probe as soon as it can help: how long a breaker rests is not what is measured here.
    breaker: { openMs: Math.min(SECOND_MS, downMs / 10) },
  })
  const startedAt = systemClock.now()
  const elapsedMs = () => systemClock.now() - startedAt
  const watching = watch && look(() => watch(events.health(), elapsedMs()))
  try {
    await receiver.turn('down')
    await trackEvenly(waiting, downMs / 2, elapsedMs, order => {
      void events.track({ type: 'order.placed', payload: { order } }, { wait: 'accepted' })
    })
    await pause(downMs - elapsedMs())
    const backAtMs = await receiver.turn('up')
    await events.flush()
    watching?.()
    const letters = (await deadLetters.stats()).count
    return figures(plan, await receiver.arrivals(), backAtMs, letters)
  } finally {
    watching?.()
    await events.close()
    receiver.close()
  }
}

async function trackEvenly(
  count: number,
  overMs: number,
  elapsedMs: () => number,
  track: (order: string) => void,
): Promise<void> {
  for (let tracked = 0; tracked < count; ) {
    const due = Math.min(count, Math.ceil((count * elapsedMs()) / overMs))
    while (tracked < due) track(`storm-${tracked++}`)
    await pause(10)
  }
}

function look(work: () => void): () => void {
  let cancel = systemClock.schedule(LOOK_EVERY_MS, next)
  function next(): void {
    work()
    cancel = systemClock.schedule(LOOK_EVERY_MS, next)
  }
  return () => cancel()
}

function figures(
  plan: StormPlan,
  arrivals: readonly Arrival[],
  backAtMs: number,
  letters: number,
): StormFigures {
  const orders = new Set(arrivals.map(({ order }) => order))
  return {
    plan,
    arrivals,
    backAtMs,
    mostInASecond: mostWithin(arrivals, SECOND_MS),
    firstAfterMs: arrivals[0]!.atMs - backAtMs,
    drainedAfterMs: arrivals.at(-1)!.atMs - backAtMs,
    lost: plan.waiting - orders.size,
    twice: arrivals.length - orders.size,
    letters,
  }
}

/** The most that came within any window of so long, wherever it begins. */
export function mostWithin(arrivals: readonly Arrival[], windowMs: number): number {
  let most = 0
  let from = 0
  for (const [index, { atMs }] of arrivals.entries()) {
    while (atMs - arrivals[from]!.atMs >= windowMs) from++
    most = Math.max(most, index - from + 1)
  }
  return most
}
