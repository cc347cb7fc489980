import { describe, expect, it } from 'vitest'
import { hasty, kafkaWorld } from '../../../test/support/kafka-world.ts'
import { counts, idsOf } from '../../testing/conformance/broker/world.ts'
import { sortedIds, uniqueName } from '../../testing/conformance/harness.ts'

const { found, why, timing, make, open, subscribe, settleNextAsDead } = await kafkaWorld()

const BY_KEY = { ordering: 'by-key' } as const

describe.runIf(found)(`Kafka when a handler changes its ordering${why}`, () => {
  it('P1: a handler that keeps the order no more gets what waited for it, with its attempts', async () => {
    const channel = uniqueName('freed')
    const broker = open({ clock: hasty })
    const ordered = await subscribe(broker, channel, BY_KEY)
    const a = make.events(3, { channel, key: 'a' })
    const b = make.event({ channel, key: 'b' })
    await broker.publish([...a, b])
    await settleNextAsDead(ordered)
    const attempt = make.attempt(1)
    const failing = await ordered.assertNextIs(b)
    await ordered.begin(failing)
    await ordered.retry(failing, timing.now() + 2_000, [attempt])
    const isCounted = async () => (await broker.depth(channel, 'bill')) === 3
    await timing.eventually(isCounted, 'two wait for their key and one for its retry')
    await ordered.subscription.close()

    const inbox = await subscribe(broker, channel)
    const [later] = make.events(1, { channel, key: 'a' })
    await broker.publish([later!])
    const deliveries = await inbox.take(4)
    expect(idsOf(deliveries).sort()).toEqual(sortedIds([a[1]!, a[2]!, b, later!]))
    const retried = deliveries[idsOf(deliveries).indexOf(b.id)]!
    expect(counts(retried)).toEqual([1, 1, [attempt]])
    await inbox.done(...deliveries)
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
    await inbox.subscription.close()

    const again = await subscribe(broker, channel, BY_KEY)
    const last = make.event({ channel, key: 'a' })
    await broker.publish([last])
    await again.doneNext(last, 'the key is still blocked')
    await again.assertEmpty('an event came twice')
  })

  it('B9: a handler that begins to keep the order gets retries from before it', async () => {
    const channel = uniqueName('tied')
    const broker = open()
    const loose = await subscribe(broker, channel)
    const [first, second] = make.events(2, { channel, key: 'a' })
    await broker.publish([first!, second!])
    const [one, two] = await loose.take(2)
    await loose.retry(one!, timing.now() + 1_500)
    await loose.done(two!)
    await loose.subscription.close()
    const inbox = await subscribe(broker, channel, BY_KEY)
    await inbox.doneNext(first)
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
  })

  it('E21: without order the events of a key run at once, and one that fails or is dead holds up no other', async () => {
    const channel = uniqueName('loose')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    const events = make.events(4, { channel, key: 'a' })
    await broker.publish(events)
    const [dead, failing, ...others] = await inbox.take(4)
    const letter = make.letter({ event: events[0]!, channel })
    await inbox.subscription.settle(dead!, { outcome: 'dead', letter, saved: true })
    await inbox.retry(failing!, timing.now() + 1_000)
    await inbox.done(...others)
    const [later] = make.events(1, { channel, key: 'a' })
    await broker.publish([later!])
    await inbox.doneNext(later, 'an event of the key waits for another one')
    await broker.unblockKey(channel, events[0]!.id, 'bill')
    await inbox.doneNext(events[1])
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'the request is settled')
  })
})
