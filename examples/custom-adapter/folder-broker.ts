import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AttemptRecord,
  type Broker,
  BrokerClosedError,
  type Clock,
  type Delivery,
  DeliveryLostError,
  type LazaretEvent,
  type Settlement,
  type SubscribeOptions,
  type Subscription,
} from 'lazaret'
import {
  type AttemptLog,
  clockRule,
  decodeAttempts,
  decodeEvent,
  EMPTY_LOG,
  encodeEvent,
  PollLoop,
  replayOf,
  requireChannels,
  resolveOptions,
  subscribeRules,
  TrackedDelivery,
  text,
  withoutForeignReplays,
} from 'lazaret/adapter-kit'

interface FolderBrokerOptions {
  readonly dir: string
  readonly clock?: Clock | undefined
}

/** One event that waits for one handler. It is a file of its own. */
interface Waiting extends AttemptLog {
  readonly event: string
  readonly notBefore: number
}

const rules = { dir: text(), clock: clockRule }
const checkSubscribe = subscribeRules({ keyOrder: false })
const POLL_MS = 1_000
/** A file that exists from a handler's first subscription on. Later events of the channel are kept for the handler. */
const SUBSCRIBED = 'subscribed'

/**
 * A broker that keeps one file per event and handler in a folder. One process uses the folder at a time. A power failure
 * can lose what the operating system has not written yet; a crash of the process loses nothing.
 */
export class FolderBroker implements Broker {
  readonly name = 'folder'
  readonly capabilities = { delay: true, keyOrder: false, deadLetters: false, durable: true }
  readonly #dir: string
  readonly #clock: Clock
  readonly #subscriptions = new Set<FolderSubscription>()
  #lastNumber = 0
  #isClosed = false

  constructor(options: FolderBrokerOptions) {
    const { dir, clock } = resolveOptions('FolderBroker', rules, options)
    this.#dir = dir
    this.#clock = clock
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    for (const queue of readdirSync(dir))
      for (const file of readdirSync(join(dir, queue)))
        this.#lastNumber = Math.max(this.#lastNumber, Number.parseInt(file, 10) || 0)
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    requireChannels(events)
    for (const event of withoutForeignReplays(events)) {
      const target = replayOf(event)?.handler
      const handlers = target === undefined ? this.#handlersOf(event.channel) : [target]
      for (const handler of handlers)
        this.#write(this.#queue(event.channel, handler), this.#nextFile(), {
          ...EMPTY_LOG,
          event: encodeEvent(event),
          notBefore: 0,
        })
    }
    for (const subscription of this.#subscriptions) subscription.pull()
  }

  async subscribe(options: SubscribeOptions, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    this.#requireOpen()
    const { channel, handler, prefetch } = checkSubscribe(options)
    const queue = this.#queue(channel, handler)
    writeFileSync(join(queue, SUBSCRIBED), '')
    const isOpenElsewhere = (file: string) =>
      [...this.#subscriptions].some(other => other.queue === queue && other.holds(file))
    const subscription = new FolderSubscription(queue, channel, prefetch, this.#clock, deliver, {
      isOpenElsewhere,
      write: (file, waiting) => this.#write(queue, file, waiting),
      left: closed => this.#subscriptions.delete(closed),
    })
    this.#subscriptions.add(subscription)
    // The caller has the subscription before the first delivery arrives.
    this.#clock.schedule(0, () => subscription.start())
    return subscription
  }

  /** Only brokers with the capability `keyOrder` have something to do here. */
  async unblockKey(): Promise<void> {
    this.#requireOpen()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#subscriptions].map(subscription => subscription.close()))
  }

  #handlersOf(channel: string): string[] {
    return readdirSync(this.#dir)
      .filter(name => existsSync(join(this.#dir, name, SUBSCRIBED)))
      .map(name => name.split('.').map(part => Buffer.from(part, 'base64url').toString()))
      .filter(([of]) => of === channel)
      .map(([, handler]) => handler!)
  }

  /** The folder of a handler. A replay can come before the handler's first subscription. */
  #queue(channel: string, handler: string): string {
    const name = [channel, handler].map(part => Buffer.from(part).toString('base64url')).join('.')
    const queue = join(this.#dir, name)
    mkdirSync(queue, { recursive: true, mode: 0o700 })
    return queue
  }

  #nextFile(): string {
    return `${String(++this.#lastNumber).padStart(12, '0')}.json`
  }

  #write(queue: string, file: string, waiting: Waiting): void {
    const path = join(queue, file)
    writeFileSync(`${path}.new`, JSON.stringify(waiting), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new BrokerClosedError(this.name)
  }
}

/** A delivery that knows its file. */
class FolderDelivery extends TrackedDelivery {
  readonly file: string
  readonly encoded: string

  constructor(queue: string, channel: string, file: string) {
    const { event, ...log } = JSON.parse(readFileSync(join(queue, file), 'utf8')) as Waiting
    const history = decodeAttempts(log.history, undefined)
    super(channel, decode(event), { broker: 'folder', queue: channel, offset: file }, { ...log, history })
    this.file = file
    this.encoded = event
  }
}

function decode(event: string) {
  try {
    return decodeEvent(event)
  } catch (error) {
    return { raw: Buffer.from(event), problem: (error as Error).message }
  }
}

interface QueueAccess {
  isOpenElsewhere(file: string): boolean
  write(file: string, waiting: Waiting): void
  left(subscription: FolderSubscription): void
}

class FolderSubscription implements Subscription {
  readonly queue: string
  readonly #channel: string
  readonly #prefetch: number
  readonly #clock: Clock
  readonly #deliver: (delivery: Delivery) => void
  readonly #access: QueueAccess
  readonly #rounds: PollLoop
  readonly #open = new Map<string, FolderDelivery>()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'

  constructor(
    queue: string,
    channel: string,
    prefetch: number,
    clock: Clock,
    deliver: (delivery: Delivery) => void,
    access: QueueAccess,
  ) {
    this.queue = queue
    this.#channel = channel
    this.#prefetch = prefetch
    this.#clock = clock
    this.#deliver = deliver
    this.#access = access
    this.#rounds = new PollLoop({
      clock,
      minPollMs: POLL_MS,
      maxPollMs: POLL_MS,
      heartbeatMs: POLL_MS,
      poll: () => this.pull(),
      // A folder has no lease to renew.
      heartbeat: () => {},
    })
    this.#rounds.start()
  }

  holds(file: string): boolean {
    return this.#open.has(file)
  }

  /** The caller may have paused it already. */
  start(): void {
    if (this.#mode === 'starting') this.resume()
  }

  /** Delivers what is due, as much as there is room for. */
  pull(): void {
    if (this.#mode !== 'running') return
    const files = readdirSync(this.queue).filter(file => file.endsWith('.json'))
    for (const file of files.sort()) {
      if (this.#open.size >= this.#prefetch) return
      if (this.holds(file) || this.#access.isOpenElsewhere(file)) continue
      const { notBefore } = JSON.parse(readFileSync(join(this.queue, file), 'utf8')) as Waiting
      const waitMs = notBefore - this.#clock.now()
      if (waitMs > 0) {
        this.#rounds.wakeIn(waitMs)
        continue
      }
      const delivery = new FolderDelivery(this.queue, this.#channel, file)
      this.#open.set(file, delivery)
      this.#deliver(delivery)
    }
  }

  async begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    const open = this.#requireHeld(delivery)
    open.recordEnds(ended)
    open.recordStart()
    this.#store(open, 0)
  }

  async settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    const open = this.#requireHeld(delivery)
    if (settlement.outcome === 'done') rmSync(join(this.queue, open.file))
    else if (settlement.outcome === 'dead') {
      if (!settlement.saved) throw new Error('a folder keeps no dead letters; give the consumer a store')
      rmSync(join(this.queue, open.file))
    } else {
      if (settlement.outcome === 'retry') open.recordEnds(settlement.ended)
      else open.takeBackStart()
      this.#store(open, settlement.notBefore)
    }
    this.#open.delete(open.file)
    // Behind the caller, who may settle several deliveries in a row.
    this.#clock.schedule(0, () => this.pull())
  }

  pause(): void {
    if (this.#mode !== 'closed') this.#mode = 'paused'
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.pull()
  }

  async close(): Promise<void> {
    if (this.#mode === 'closed') return
    this.#mode = 'closed'
    await this.#rounds.end()
    this.#open.clear()
    this.#access.left(this)
  }

  #store({ file, encoded, log }: FolderDelivery, notBefore: number): void {
    this.#access.write(file, { event: encoded, notBefore, ...log })
  }

  #requireHeld(delivery: Delivery): FolderDelivery {
    if (delivery instanceof FolderDelivery && this.#open.get(delivery.file) === delivery) return delivery
    throw new DeliveryLostError('folder', this.#channel)
  }
}
