import { type Cancel, monotonicNow } from '../../../../ports/clock.ts'
import { ERROR, isError, type StoredMessage } from '../../connection/jetstream.ts'
import type { SubscriptionContext } from '../consume/context.ts'

interface LeaseListener {
  /** The order is ours to keep. `isAfterCrash`: the owner before did not give it up. */
  own(isAfterCrash: boolean): void
  /** The lease had run out, and nobody has taken the order over. */
  renewedLate(): void
  /** The order is not ours any more. */
  lose(): void
}

/**
 * - `seeking`: another may keep the order. A record that does not change for the time of a lease has lost its owner.
 * - `owning`: ours since the record with this sequence.
 * - `closed`: given up for good.
 */
type State =
  | { readonly is: 'seeking'; readonly seen: number | undefined; readonly since: number }
  | { readonly is: 'owning'; readonly sequence: number; readonly renewedAt: number }
  | { readonly is: 'closed' }

const RENEWALS_PER_LEASE = 4
/**
 * The part of the lease in which its owner begins something. A write that is on its way when the lease ends would arrive after the
 * next owner has read the states.
 */
const USABLE_PART = 0.75
const MAX_LOOK_MS = 500
const NOBODY = ''

/**
 * Of all consumers of an ordered handler one keeps the order, and only that one consumes. The record in the state stream
 * says who. Each write names the record before it, so that of two consumers one wins. No clocks are compared.
 */
export class OwnerLease {
  readonly #context: SubscriptionContext
  readonly #listener: LeaseListener
  readonly #subject: string
  #state: State = { is: 'seeking', seen: undefined, since: 0 }
  #cancel: Cancel = () => {}
  #looking: Promise<void> | undefined

  constructor(context: SubscriptionContext, listener: LeaseListener) {
    this.#context = context
    this.#listener = listener
    this.#subject = `${context.names.stateSubject}.owner`
  }

  /** Whether nobody else can take the order over before a write that begins now has arrived. */
  get isHeld(): boolean {
    return this.#isWithin(USABLE_PART)
  }

  /** Whether this part of the lease is not over. */
  #isWithin(part: number): boolean {
    const { leaseMs } = this.#context.settings
    return this.#state.is === 'owning' && this.#now() < this.#state.renewedAt + part * leaseMs
  }

  /** Resolves after the first look. */
  async open(): Promise<void> {
    await this.#look()
  }

  async close(): Promise<void> {
    const isOwner = this.#state.is === 'owning'
    this.#state = { is: 'closed' }
    this.#cancel()
    await this.#looking
    if (isOwner) await this.#giveUp().catch(() => {})
  }

  /** The renewal that was under way may have written another record. */
  async #giveUp(): Promise<void> {
    const record = await this.#record()
    if (record !== undefined && textOf(record.data) === this.#context.id)
      await this.#write(NOBODY, record.sequence)
  }

  #now(): number {
    return monotonicNow(this.#context.settings.clock)
  }

  #look(): Promise<void> {
    this.#looking = this.#step()
      .catch(() => this.#failed())
      .finally(() => this.#lookLater())
    return this.#looking
  }

  #lookLater(): void {
    if (this.#state.is === 'closed') return
    const { clock, leaseMs } = this.#context.settings
    const renewMs = leaseMs / RENEWALS_PER_LEASE
    const waitMs = this.#state.is === 'owning' ? renewMs : Math.min(MAX_LOOK_MS, renewMs)
    this.#cancel = clock.schedule(waitMs, () => void this.#look())
  }

  async #step(): Promise<void> {
    const state = this.#state
    if (state.is === 'owning') await this.#renew(state.sequence)
    else if (state.is === 'seeking') await this.#seek(state.seen, state.since)
  }

  async #seek(seen: number | undefined, since: number): Promise<void> {
    const { settings } = this.#context
    const record = await this.#record()
    if (this.#state.is !== 'seeking') return
    const isFree = record === undefined || textOf(record.data) === NOBODY
    if (!isFree && record.sequence !== seen) {
      this.#state = { is: 'seeking', seen: record.sequence, since: this.#now() }
      return
    }
    if (!isFree && this.#now() - since < settings.leaseMs) return
    const renewedAt = this.#now()
    const sequence = await this.#write(this.#context.id, record?.sequence ?? 0)
    if (this.#state.is !== 'seeking') {
      await this.#write(NOBODY, sequence)
      return
    }
    this.#state = { is: 'owning', sequence, renewedAt }
    this.#listener.own(!isFree)
  }

  async #renew(sequence: number): Promise<void> {
    const renewedAt = this.#now()
    try {
      const next = await this.#write(this.#context.id, sequence)
      if (this.#state.is === 'owning') this.#renewed(next, renewedAt)
    } catch (error) {
      if (!isError(error, ERROR.wrongLastSequence)) throw error
      // An earlier renewal can have arrived although its answer did not.
      const record = await this.#record()
      if (this.#state.is !== 'owning') return
      if (record !== undefined && textOf(record.data) === this.#context.id)
        this.#renewed(record.sequence, renewedAt)
      else this.#lose()
    }
  }

  #renewed(sequence: number, renewedAt: number): void {
    const isLate = !this.isHeld
    this.#state = { is: 'owning', sequence, renewedAt }
    if (isLate) this.#listener.renewedLate()
  }

  async #failed(): Promise<void> {
    if (this.#state.is === 'owning' && !this.#isWithin(1)) this.#lose()
    const { streams, names } = this.#context
    await streams.restore(names.streams.state).catch(() => false)
  }

  #lose(): void {
    this.#state = { is: 'seeking', seen: undefined, since: this.#now() }
    this.#listener.lose()
  }

  #record(): Promise<StoredMessage | undefined> {
    const { jetstream, names } = this.#context
    return jetstream.message(names.streams.state, { last_by_subj: this.#subject })
  }

  async #write(owner: string, lastSequence: number): Promise<number> {
    const { publisher, streams, names } = this.#context
    const [sequence] = await publisher.publish([
      {
        stream: streams.name(names.channel, 'state'),
        subject: this.#subject,
        data: Buffer.from(owner),
        headers: [],
        lastSequence,
      },
    ])
    return sequence!
  }
}

function textOf(data: Uint8Array): string {
  return Buffer.from(data).toString('utf8')
}
