import { describe, it } from 'vitest'
import {
  memoryBroker,
  memoryDeadLetters,
  memoryLedger,
  memorySink,
  memorySpill,
} from '../../adapters/memory/index.ts'
import { encodeEvent } from '../../core/event/json.ts'
import { type Broker, BrokerClosedError, type Subscription } from '../../ports/broker.ts'
import { type DeadLetterQueue, DeadLettersClosedError } from '../../ports/dead-letters.ts'
import type { Sink } from '../../ports/sink.ts'
import { FakeClock } from '../fake-clock.ts'
import { hangingSink } from '../sinks.ts'
import { brokerConformance } from './broker.ts'
import { deadLetterStoreConformance } from './dead-letters.ts'
import { ledgerConformance } from './ledger.ts'
import { sinkConformance } from './sink.ts'
import { spillConformance } from './spill.ts'

// The memory adapters skip what they cannot do. Here the same tests run on stand-ins that can: a process that ends
// while the memory behind it stays, real time, and a receiver that misbehaves.

describe('a broker whose memory outlives it', () => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    setup: async () => {
      const clock = new FakeClock()
      const memory = memoryBroker({ clock })
      const open = () => connected(memory)
      return { clock, broker: open(), reopen: async () => open() }
    },
  })
})

describe('a broker on real time', () => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: false },
    setup: async () => ({ broker: memoryBroker(), quietMs: 3 }),
  })
})

describe('a ledger on real time whose memory outlives it', () => {
  ledgerConformance({
    test: it,
    declares: { durable: true },
    setup: async () => {
      const memory = memoryLedger()
      return { ledger: memory, reopen: async () => memory }
    },
  })
})

describe('dead letters whose memory outlives them', () => {
  deadLetterStoreConformance({
    test: it,
    declares: { durable: true, bounded: false },
    setup: async () => {
      const memory = memoryDeadLetters()
      return { store: closable(memory), reopen: async () => closable(memory) }
    },
  })
})

describe('a spill whose memory outlives it', () => {
  spillConformance({
    test: it,
    declares: { durable: true },
    setup: async () => {
      const memory = memorySpill()
      return { spill: closable(memory), reopen: async () => closable(memory) }
    },
  })
})

describe('a sink whose receiver misbehaves', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: true },
    setup: async () => {
      const memory = memorySink()
      let isFailing = false
      let hangs = false
      let refused: readonly string[] = []
      const sink: Sink = {
        async write(batch, context) {
          if (isFailing) throw new Error('sick')
          if (hangs) return await hangingSink().write(batch, context)
          const taken = batch.filter(event => !refused.includes(event.id))
          await memory.write(taken, context)
          const error = new Error('refused')
          const items = batch.map((event, index) => ({ index, error, isTaken: taken.includes(event) }))
          return { rejected: items.filter(item => !item.isTaken) }
        },
        async probe() {
          if (isFailing) throw new Error('sick')
        },
      }
      return {
        sink,
        received: async () => memory.events.map(event => event.id),
        setFailing: sick => {
          isFailing = sick
        },
        hang: () => {
          hangs = true
        },
        refuse: ids => {
          refused = ids
        },
      }
    },
  })
})

/** One process's connection to a broker: closing it ends its subscriptions and leaves the broker running. */
function connected(memory: Broker): Broker {
  const subscriptions = new Set<Subscription>()
  let isClosed = false
  const requireOpen = () => {
    if (isClosed) throw new BrokerClosedError(memory.name)
  }
  return {
    name: memory.name,
    capabilities: { ...memory.capabilities, durable: true },
    async publish(events) {
      requireOpen()
      // As one whose events go over a wire.
      for (const event of events) encodeEvent(event)
      await memory.publish(events)
    },
    async subscribe(options, deliver) {
      requireOpen()
      const subscription = await memory.subscribe(options, deliver)
      subscriptions.add(subscription)
      return subscription
    },
    async unblockKey(channel, eventId, handler) {
      requireOpen()
      await memory.unblockKey(channel, eventId, handler)
    },
    async close() {
      isClosed = true
      for (const subscription of subscriptions) await subscription.close()
    },
  }
}

/** The same store with its own closed state: closing it leaves the shared store open. */
function closable<T extends DeadLetterQueue>(memory: T): T {
  let isClosed = false
  return new Proxy(memory, {
    get(target, name) {
      if (name === 'close') {
        return async () => {
          isClosed = true
        }
      }
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      const call = (args: unknown[]) => {
        if (isClosed) throw new DeadLettersClosedError('test')
        return method.apply(target, args)
      }
      if (name !== 'versions') return async (...args: unknown[]) => call(args)
      return async function* versions(...args: unknown[]) {
        yield* call(args)
      }
    },
  })
}
