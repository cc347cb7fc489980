import assert from 'node:assert/strict'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Delivery, Settlement, Subscription, SubscriptionStatus } from '../../../ports/broker.ts'
import { type BrokerConformance, type BrokerFault, inWorld } from './suite.ts'
import { type BrokerWorld, idOf } from './world.ts'

const HANDLER = 'bill'
const BEFORE = 20
const AFTER = 30
/** Of four events, one is retried once, one becomes a letter, and two are done. */
const KINDS = 4

/** A broker detects, reports and repairs damage on its server while events flow. */
export function faultTests(suite: BrokerConformance): void {
  const { faults = [] } = suite
  const it = inWorld(suite, faults.length === 0 ? 'the suite names no faults' : undefined)
  for (const fault of faults)
    it(`B7: ${fault.name} while events flow: ${sentence(fault)}`, async world => {
      const flow = await Flow.start(world, suite)
      const early = await flow.publish(BEFORE)
      await flow.handled(fault.losesEvents ? early.slice(0, BEFORE / 2) : early)
      await flow.during(fault.inject({ channel: world.channel, handler: HANDLER }))
      if (fault.reports !== undefined || fault.refusesPublishing) await flow.untilNoticed(fault)
      await flow.during(fault.undo?.({ channel: world.channel, handler: HANDLER }) ?? Promise.resolve())
      await flow.untilPublished()
      const late = await flow.publish(AFTER)
      await flow.handled(late)
      if (!fault.losesEvents) await flow.handled(flow.accepted)
      await world.timing.eventually(() => flow.stalled.size === 0, 'the subscriber hears that it works again')
      await flow.stop()
    })
}

function sentence({ recovery, reports, refusesPublishing }: BrokerFault): string {
  const told = reports === undefined ? '' : `the subscriber is told of its ${reports}, and `
  const refused = refusesPublishing ? 'publishing is refused with a remedy, and ' : ''
  return `${told}${refused}${recovery === 'automatic' ? 'it recovers automatically' : 'it continues when that is undone'}`
}

/** Publishes events, and settles them in every way. */
class Flow {
  readonly #world: BrokerWorld
  readonly #keepsLetters: boolean
  /** The events that the broker accepted. */
  readonly accepted: LazaretEvent[] = []
  readonly stalled = new Map<string, Error>()
  readonly #told = new Set<string>()
  readonly #ended = new Set<string>()
  readonly #retried = new Set<string>()
  #subscription: Subscription | undefined

  private constructor(world: BrokerWorld, { declares }: BrokerConformance) {
    this.#world = world
    this.#keepsLetters = declares.deadLetters
  }

  static async start(world: BrokerWorld, suite: BrokerConformance): Promise<Flow> {
    const flow = new Flow(world, suite)
    const options = { channel: world.channel, handler: HANDLER, prefetch: 10, ordering: 'none' } as const
    flow.#subscription = await world.broker.subscribe(
      options,
      delivery => void flow.#settle(delivery),
      news => flow.#hear(news),
    )
    return flow
  }

  async publish(count: number): Promise<LazaretEvent[]> {
    const events = this.#world.events(count)
    for (const event of events) {
      await this.#world.broker.publish([event])
      this.accepted.push(event)
    }
    return events
  }

  async handled(events: readonly LazaretEvent[]): Promise<void> {
    const left = () => events.filter(({ id }) => !this.#ended.has(id)).length
    await this.#world.timing.eventually(
      () => left() === 0,
      `of ${events.length} events each is handled or a letter`,
    )
  }

  /** Keeps publishing during a change on the server. The broker may refuse some events. */
  async during(work: Promise<void>): Promise<void> {
    let isOver = false
    const ended = work.finally(() => {
      isOver = true
    })
    while (!isOver) {
      await this.#tryToPublish()
      await this.#world.timing.quiet()
    }
    await ended
  }

  async untilNoticed({ reports, refusesPublishing }: BrokerFault): Promise<void> {
    let refusal: (Error & { readonly code?: unknown }) | undefined
    await this.#world.timing.eventually(async () => {
      refusal = (await this.#tryToPublish()) ?? refusal
      return (
        (reports === undefined || this.#told.has(reports)) && (!refusesPublishing || refusal !== undefined)
      )
    }, 'it is noticed')
    if (!refusesPublishing) return
    assert.match(String(refusal?.code), /^LAZARET_/, 'the refusal has a code')
    assert.match(refusal?.message ?? '', /; /, 'the refusal names its subject and a remedy')
  }

  async untilPublished(): Promise<void> {
    await this.#world.timing.eventually(
      async () => (await this.#tryToPublish()) === undefined,
      'publishing works again',
    )
  }

  async stop(): Promise<void> {
    await this.#subscription?.close()
  }

  async #tryToPublish(): Promise<Error | undefined> {
    try {
      await this.publish(1)
      return undefined
    } catch (error) {
      return error as Error
    }
  }

  async #settle(delivery: Delivery): Promise<void> {
    const id = idOf(delivery)
    const settlement = this.#settlementOf(delivery, id)
    try {
      await this.#subscription!.begin(delivery, [])
      await this.#subscription!.settle(delivery, settlement)
      if (settlement.outcome === 'retry') this.#retried.add(id)
      else this.#ended.add(id)
    } catch {
      // The broker delivers the event again.
    }
  }

  #settlementOf(delivery: Delivery, id: string): Settlement {
    const kind = Number.parseInt(id.slice(-1), 16) % KINDS
    if (kind === 0 && !this.#retried.has(id)) return { outcome: 'retry', notBefore: 0, ended: [] }
    if (kind === 1 && this.#keepsLetters)
      return { outcome: 'dead', letter: this.#world.letterOf(delivery), saved: false }
    return { outcome: 'done' }
  }

  #hear(news: SubscriptionStatus): void {
    if (news.state === 'recovered') this.stalled.delete(news.place)
    else if (news.state === 'stalled') {
      this.stalled.set(news.place, news.error)
      this.#told.add(news.place)
    }
  }
}
