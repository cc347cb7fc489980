import { describe, expect, it } from 'vitest'
import { changed, failing } from '../../../test/support/conformance.ts'
import { type MemoryBroker, memoryBroker } from '../../adapters/memory/broker/broker.ts'
import { REPLAY_HEADERS } from '../../core/event/replay-headers.ts'
import type { Broker, Delivery, Settlement, SubscribeOptions, Subscription } from '../../ports/broker.ts'
import { FakeClock, settle } from '../fake-clock.ts'
import { brokerConformance } from './broker.ts'

/** Breaks a broker in one way, and names the test that must see it. */
interface Break {
  readonly what: string
  readonly caughtBy: string
  readonly broken: (broker: MemoryBroker) => Partial<Broker>
}

const BREAKS: readonly Break[] = [
  {
    what: 'publishes only the first event of a call',
    caughtBy: 'E9: an event arrives complete, with a payload of JSON or bytes',
    broken: broker => ({ publish: events => broker.publish(events.slice(0, 1)) }),
  },
  {
    what: 'publishes in the wrong order',
    caughtBy: 'publish: events arrive in order, within a call and across calls',
    broken: broker => ({ publish: events => broker.publish([...events].reverse()) }),
  },
  {
    what: 'hands over more than the prefetch',
    caughtBy: 'prefetch: at most this many deliveries are open, and each settlement admits one more',
    broken: broker => subscribing(broker, { options: { prefetch: 100 } }),
  },
  {
    what: 'has one queue for all handlers',
    caughtBy: 'subscribe: every handler gets every event once',
    broken: broker => subscribing(broker, { options: { handler: 'everybody' } }),
  },
  {
    what: 'delivers everything twice',
    caughtBy: 'subscribe: every handler gets every event once',
    broken: broker => ({
      subscribe: (options, deliver) =>
        broker.subscribe(options, delivery => {
          deliver(delivery)
          deliver(delivery)
        }),
    }),
  },
  {
    what: 'delivers before subscribe resolves',
    caughtBy: 'subscribe: no delivery arrives before the subscription resolves',
    broken: broker => ({
      subscribe: async (options, deliver) => {
        const subscription = await broker.subscribe(options, deliver)
        await settle()
        return subscription
      },
    }),
  },
  {
    what: 'does not pause',
    caughtBy:
      'B6: pause stops new deliveries and keeps open ones, resume continues, and both can be repeated',
    broken: broker => subscribing(broker, { broken: () => ({ pause: () => {} }) }),
  },
  {
    what: 'retries at once',
    caughtBy: 'B3: retry: the event is not delivered before its time',
    broken: broker => settling(broker, (_, settlement) => ({ ...settlement, notBefore: 0 })),
  },
  {
    what: 'forgets what is to be retried',
    caughtBy: 'B3: retry: the event is delivered again at its time, and at once if the time has passed',
    broken: broker => settling(broker, (_, each) => (each.outcome === 'retry' ? { outcome: 'done' } : each)),
  },
  {
    what: 'forgets what happened in the attempts',
    caughtBy: 'B8: retry: the next delivery has the started and ended attempts and their history',
    broken: broker => settling(broker, (_, settlement) => ({ ...settlement, ended: [] })),
  },
  {
    what: 'does not count starts',
    caughtBy: 'B8: an attempt that began and never ended',
    broken: broker => subscribing(broker, { broken: () => ({ begin: () => {} }) }),
  },
  {
    what: 'counts as finished what is open or waits for a retry',
    caughtBy: 'K7: depth counts the events that a handler has not settled',
    broken: broker => ({ depth: (...of) => Math.max(0, broker.depth(...of) - 2) }),
  },
  {
    what: 'counts a release as an attempt',
    caughtBy: 'release: the event is delivered again without an attempt',
    broken: broker =>
      settling(broker, (delivery, settlement, subscription) => {
        if (settlement.outcome !== 'release') return settlement
        void subscription.begin(delivery, [])
        return { ...settlement, outcome: 'retry', ended: [] }
      }),
  },
  {
    what: 'takes a second settlement without a word',
    caughtBy: 'settle: a second settlement rejects and changes nothing',
    broken: broker => subscribing(broker, { broken: swallowing }),
  },
  {
    what: 'loses what is open when a subscription closes',
    caughtBy: 'close: a subscription returns its open deliveries',
    broken: losing,
  },
  {
    what: 'drops letters that nobody else keeps',
    caughtBy: 'K10: dead with an unsaved letter: the broker keeps the complete letter',
    broken: broker => settling(broker, (_, settlement) => ({ ...settlement, saved: true })),
  },
  {
    what: 'hands replays to every handler',
    caughtBy: 'B14: a replay for one handler reaches only that handler',
    broken: broker => ({
      publish: events =>
        broker.publish(
          events.map(event => {
            const { [REPLAY_HEADERS.handler]: _, ...headers } = event.headers
            return { ...event, headers }
          }),
        ),
    }),
  },
  {
    what: 'keeps no order',
    caughtBy: 'B9: events of a key arrive one at a time, in the order of publishing',
    broken: broker => subscribing(broker, { options: { ordering: 'none' } }),
  },
  {
    what: 'goes on over the dead',
    caughtBy: 'B9: dead: the later events of its key wait',
    broken: broker =>
      settling(broker, (delivery, settlement) => {
        if (settlement.outcome === 'dead')
          void settle().then(() => broker.unblockKey(delivery.channel, idOf(delivery)))
        return settlement
      }),
  },
  {
    what: 'lets nobody go',
    caughtBy: 'until the key is unblocked',
    broken: () => ({ unblockKey: async () => {} }),
  },
  {
    what: 'puts a replay behind those that have waited',
    caughtBy: 'B9: dead: a dead-lettered event that is published again goes first, then the later ones',
    broken: broker => ({
      publish: async events => {
        for (const event of events) await broker.unblockKey(event.channel, event.id)
        await broker.publish(events)
      },
    }),
  },
  {
    what: 'publishes into nothing after close',
    caughtBy: 'close: a broker closes its subscriptions, and later calls reject',
    broken: broker => ({ publish: events => broker.publish(events).catch(() => {}) }),
  },
]

describe('the broker suite', () => {
  it.each(BREAKS)('catches a broker that $what', async ({ caughtBy, broken }) => {
    const failed = await failing(test => {
      brokerConformance({
        test,
        declares: { delay: true, keyOrder: true, deadLetters: true, durable: false },
        canReadLetters: true,
        setup: async () => {
          const clock = new FakeClock()
          const memory = memoryBroker({ clock })
          return {
            clock,
            timeoutMs: 50,
            broker: changed<Broker>(memory, () => broken(memory)),
            keptLetters: async () => memory.deadLetters,
          }
        },
      })
    }, caughtBy)
    expect(failed).toHaveLength(1)
  })
})

function subscribing(
  broker: Broker,
  {
    options: forced = {},
    broken = () => ({}),
  }: {
    readonly options?: Partial<SubscribeOptions>
    readonly broken?: (subscription: Subscription) => Partial<Subscription>
  },
): Partial<Broker> {
  return {
    async subscribe(options, deliver) {
      const subscription = await broker.subscribe({ ...options, ...forced }, deliver)
      return changed(subscription, broken)
    },
  }
}

function settling(
  broker: Broker,
  change: (delivery: Delivery, settlement: Settlement, subscription: Subscription) => Settlement,
): Partial<Broker> {
  return subscribing(broker, {
    broken: subscription => ({
      settle: (delivery, settlement) =>
        subscription.settle(delivery, change(delivery, settlement, subscription)),
    }),
  })
}

function swallowing(subscription: Subscription): Partial<Subscription> {
  return {
    settle: async (delivery, settlement) => subscription.settle(delivery, settlement)?.catch(() => {}),
  }
}

function losing(broker: Broker): Partial<Broker> {
  return {
    async subscribe(options, deliver) {
      const open: Delivery[] = []
      const subscription = await broker.subscribe(options, delivery => {
        open.push(delivery)
        deliver(delivery)
      })
      const close = async () => {
        for (const delivery of open) await subscription.settle(delivery, { outcome: 'done' })
        await subscription.close()
      }
      return changed(subscription, () => ({ close }))
    },
  }
}

function idOf({ content }: Delivery): string {
  return 'id' in content ? content.id : ''
}
