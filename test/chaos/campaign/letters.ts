import { CATEGORIES } from '../../../src/adapters/rabbitmq/broker/topology/plan.ts'
import type { DeadLetterStore } from '../../../src/ports/dead-letters.ts'
import { RabbitmqAdmin } from '../../support/rabbitmq.ts'

/** The event id of every letter on the server, quarantined ones included. */
export async function lettersOnRabbitmq(url: string, channel: string): Promise<string[]> {
  const outside = await RabbitmqAdmin.at(url)
  const queues = [`${channel}.dlq`, ...CATEGORIES.map(category => `${channel}.dlq.quarantine.${category}`)]
  const ids: string[] = []
  for (const queue of queues)
    for (const { properties } of await outside.peek(queue)) ids.push(properties.messageId ?? '')
  await outside.close()
  return ids
}

/** The event id of every letter of the channel. Closes the store. */
export async function lettersIn(store: DeadLetterStore, channel: string): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  try {
    do {
      const page = await store.list({ channel, limit: 100, cursor })
      for (const { event } of page.letters) ids.push(event.id)
      cursor = page.cursor
    } while (cursor !== undefined)
    return ids
  } finally {
    await store.close()
  }
}
