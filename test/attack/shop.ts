import { setTimeout as sleep } from 'node:timers/promises'
import { createConsumer, createDispatcher, createEvent, fixed, joinFleet, PermanentError } from 'lazaret'
import { openShop, SECRET } from './stores.ts'

const EVENT_EVERY_MS = 300

export interface Shop {
  /** The id of its process in the fleet. */
  readonly instance: string
  close(): Promise<void>
}

/**
 * A process of the fleet, so that commands have a recipient and replays a way back. With `isBusy` its events fail, so that the
 * attacker always finds new letters.
 */
export async function openProcess(folder: string, isBusy: boolean): Promise<Shop> {
  const store = openShop(folder)
  const retry = { attempts: 2, backoff: fixed({ delayMs: 10, jitter: 'none' }) } as const
  let handled = 0
  const consumer = createConsumer({
    ...{ broker: store.broker, deadLetters: store.deadLetters, channel: 'orders', name: 'bill' },
    ...{ retry, leaveOpen: true },
    async handle() {
      handled++
      if (handled % 3 === 0) throw new PermanentError('no such customer')
      if (handled % 3 === 1) throw new Error(`the bank does not answer request ${handled}`)
    },
  })
  await consumer.start()
  const dispatcher = createDispatcher({
    ...{ deadLetters: store.deadLetters, leaveOpen: true, retry },
    sinks: {
      crm: {
        async write() {
          throw new Error('the receiver is closed')
        },
      },
    },
  })
  const member = joinFleet({ store, service: 'shop', consumers: [consumer], dispatchers: [dispatcher] })
  let isClosed = false
  const traffic = (async () => {
    for (let total = 1; isBusy && !isClosed; total++) {
      const payload = { total, password: SECRET }
      await store.broker.publish([createEvent({ type: 'order.placed', channel: 'orders', payload })])
      // Its sink refuses it, so it becomes a letter.
      if (total % 10 === 0) await dispatcher.track({ type: 'order.paid', payload }).catch(() => {})
      await sleep(EVENT_EVERY_MS)
    }
  })()
  return {
    instance: member.id,
    async close() {
      isClosed = true
      await traffic
      await member.close()
      await dispatcher.close()
      await consumer.close()
      await store.close()
    },
  }
}
