import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { Cancel, Clock } from '../../../../ports/clock.ts'
import { NoDeliveriesError } from '../../errors.ts'

/** Looks in a row at which nothing moved before a queue counts as stalled, at first and at most. */
const FIRST_POLLS = 3
const MAX_POLLS = 60
/** The queue is bound again after each sequence of this many checks without a message. */
const BIND_EVERY = 10
const POLL_EVERY_MS = 1_000

/** The number of unsettled messages that the server gives to one consumer. Without a limit there is always room. */
export class PrefetchWindow {
  readonly #limit: number | undefined
  /** Delivered and not settled. */
  open = 0

  constructor(limit: number | undefined) {
    this.#limit = limit
  }

  /** The server may deliver more. */
  get hasRoom(): boolean {
    return this.#limit === undefined || this.open < this.#limit
  }
}

/**
 * - `moving`: something has arrived since the last look.
 * - `full`: the server may not deliver more before something is settled.
 * - `empty`: no message waits in the queue.
 * - `waiting`: messages wait and none arrives, which may be chance.
 * - `stalled`: it is not chance any more; the channel should be reopened.
 */
type Finding = 'moving' | 'full' | 'empty' | 'waiting' | 'stalled'

/**
 * Finds out that the server delivers nothing of a queue although it could, over all channels that consume it. A queue that was
 * deleted and declared again may lose its consumers without telling them. The consumer looks once a second and opens
 * a new channel when `isStalled` says so. Each time that a new channel did not help, the next one is waited for
 * longer: the server may prefer another consumer.
 */
export class StallDetector {
  readonly queue: string
  readonly #stalls: StallReporter
  readonly #bind: () => Promise<void>
  #arrivals = 0
  #arrivalsSeen = -1
  #idleLooks = 0
  #looksNeeded = FIRST_POLLS
  #looksWithout = 0

  /** `bind` connects the queue to its exchange again, in case a person deleted the exchange. */
  constructor(queue: string, stalls: StallReporter, bind: () => Promise<void> = async () => {}) {
    this.queue = queue
    this.#stalls = stalls
    this.#bind = bind
  }

  /** A cancellation by the server counts too: it has not forgotten the consumer. */
  arrived(): void {
    this.#arrivals++
  }

  /** `countReady` is asked for the messages that wait in the queue, and only while nothing arrives. */
  async isStalled(hasRoom: boolean, countReady: (queue: string) => Promise<number>): Promise<boolean> {
    const finding = await this.#look(hasRoom, countReady)
    if (finding === 'moving' || finding === 'empty') this.end()
    if (finding !== 'moving' && ++this.#looksWithout % BIND_EVERY === 0) void this.#bind().catch(() => {})
    return finding === 'stalled'
  }

  /** Reports the stall. It lasts until a message arrives, or no message waits. */
  report(): Error {
    const error = new NoDeliveriesError(this.queue)
    this.#stalls.stalled('deliveries', this, error)
    return error
  }

  /** The queue holds nothing up, or another consumer watches it now. */
  end(): void {
    this.#stalls.ended('deliveries', this)
  }

  async #look(hasRoom: boolean, countReady: (queue: string) => Promise<number>): Promise<Finding> {
    if (this.#hasMoved()) return 'moving'
    const isEmpty = hasRoom && (await countReady(this.queue)) === 0
    // The answer comes after earlier data, such as a large message.
    if (this.#hasMoved()) return 'moving'
    if (!hasRoom || isEmpty) {
      this.#idleLooks = 0
      return isEmpty ? 'empty' : 'full'
    }
    if (++this.#idleLooks < this.#looksNeeded) return 'waiting'
    this.#idleLooks = 0
    this.#looksNeeded = Math.min(MAX_POLLS, this.#looksNeeded * 2)
    return 'stalled'
  }

  #hasMoved(): boolean {
    if (this.#arrivals === this.#arrivalsSeen) return false
    this.#arrivalsSeen = this.#arrivals
    this.#idleLooks = 0
    this.#looksNeeded = FIRST_POLLS
    return true
  }
}

/** Looks once a second, a second after the last look has ended. A look that fails is followed by the next one. */
export class PollTimer {
  readonly #clock: Clock
  readonly #look: () => Promise<void>
  #stop: Cancel | undefined

  constructor(clock: Clock, look: () => Promise<void>) {
    this.#clock = clock
    this.#look = look
  }

  start(): void {
    this.stop()
    const stop = this.#clock.schedule(POLL_EVERY_MS, () => {
      const again = () => {
        // The timer may have been stopped, and started again, during the look.
        if (this.#stop === stop) this.start()
      }
      void this.#look().then(again, again)
    })
    this.#stop = stop
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
  }
}
