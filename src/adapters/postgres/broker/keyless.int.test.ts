import { describe, expect, it } from 'vitest'
import { make, postgresWorld } from '../../../../test/support/outbox-world.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'

const { found, world, why } = await postgresWorld()
const A_FEW = 6

/** Publishes the events, and one more of the kind for each that is handled. The answer is the ids of the deliveries. */
async function deliveredAmong(
  channel: string,
  events: readonly LazaretEvent[],
  another: () => LazaretEvent,
): Promise<readonly string[]> {
  const outbox = world.process()
  const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key', prefetch: 1 })
  inbox.subscription.pause()
  await outbox.publish(events)
  inbox.subscription.resume()
  const ids: string[] = []
  while (ids.length < A_FEW) {
    const delivery = await inbox.next()
    ids.push(idOf(delivery))
    await outbox.publish([another()])
    await inbox.done(delivery)
  }
  return ids
}

describe.runIf(found.found)(`by key${why}`, () => {
  it('B9: an event without a key is delivered while there are always events with keys', async () => {
    const channel = uniqueName('orders')
    const keyless = make.event({ channel })
    let keys = 0
    const keyed = () => make.event({ channel, key: `k${keys++}` })
    const events = [keyless, ...Array.from({ length: 30 }, keyed)]
    expect(await deliveredAmong(channel, events, keyed)).toContain(keyless.id)
  })

  it('B9: an event with a key is delivered while there are always events without one', async () => {
    const channel = uniqueName('orders')
    const keyed = make.event({ channel, key: 'a' })
    const keyless = () => make.event({ channel })
    const events = [...Array.from({ length: 30 }, keyless), keyed]
    expect(await deliveredAmong(channel, events, keyless)).toContain(keyed.id)
  })
})
