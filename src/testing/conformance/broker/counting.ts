import assert from 'node:assert/strict'
import { type BrokerConformance, inWorld, inWorldWith } from './suite.ts'
import { counts } from './world.ts'

const MANY_ATTEMPTS = 40

/** Attempts are counted when they start and when they end, so that an attempt that kills its process is visible. */
export function countingTests(suite: BrokerConformance): void {
  const it = inWorld(suite)

  it('B8: a delivery alone is not an attempt', async world => {
    const { inbox } = await world.deliverOne()
    await inbox.subscription.close()
    assert.deepEqual(counts(await (await world.subscribe()).next()), [0, 0, []])
  })

  it('B8: an attempt that began and never ended is counted as started', async world => {
    const { inbox, delivery } = await world.deliverOne()
    await inbox.begin(delivery)
    await inbox.subscription.close()
    assert.deepEqual(counts(await (await world.subscribe()).next()), [1, 0, []])
  })

  it('B8: the counts of a delivery do not change while it is open', async world => {
    const { inbox, delivery } = await world.deliverOne()
    await inbox.begin(delivery)
    await inbox.begin(delivery, [world.make.attempt(1)])
    assert.deepEqual(counts(delivery), [0, 0, []])
  })

  it('B8: retry: the next delivery has the started and ended attempts and their history', async world => {
    const { inbox, delivery } = await world.deliverOne()
    const ended = [world.make.attempt(1, { delayMs: 250 })]
    await inbox.begin(delivery)
    await inbox.retry(delivery, 0, ended)
    assert.deepEqual(counts(await inbox.next()), [1, 1, ended])
  })

  it('B8: the next begin records attempts that ended in the process', async world => {
    const { inbox, delivery } = await world.deliverOne()
    const [first, second] = [world.make.attempt(1), world.make.attempt(2)]
    await inbox.begin(delivery)
    await inbox.begin(delivery, [first])
    await inbox.begin(delivery, [second])
    await inbox.subscription.close()
    assert.deepEqual(counts(await (await world.subscribe()).next()), [3, 2, [first, second]])
  })

  it('B8: counts continue after crashes, retries and releases', async world => {
    await world.registerHandler()
    await world.publish(1)
    let inbox = await world.subscribe()
    await inbox.begin(await inbox.next())
    await inbox.subscription.close()
    inbox = await world.subscribe()
    const second = await inbox.next()
    const record = world.make.attempt(2)
    await inbox.begin(second)
    await inbox.retry(second, 0, [record])
    await inbox.release(await inbox.next())
    assert.deepEqual(counts(await inbox.next()), [2, 1, [record]])
  })

  it('B8: release: an unfinished attempt is taken back, and ended attempts stay', async world => {
    const { inbox, delivery } = await world.deliverOne()
    const record = world.make.attempt(1)
    await inbox.begin(delivery)
    await inbox.begin(delivery, [record])
    await inbox.release(delivery)
    const second = await inbox.next()
    assert.deepEqual(counts(second), [1, 1, [record]])
    await inbox.release(second)
    assert.deepEqual(counts(await inbox.next()), [1, 1, [record]], 'only its own start is taken back')
  })

  it('B8: the history is bounded and oldest first, and the counts include dropped entries', async world => {
    const inbox = await world.subscribe()
    await world.publish(1)
    for (let number = 1; number <= MANY_ATTEMPTS; number++) {
      const delivery = await inbox.next()
      await inbox.begin(delivery)
      await inbox.retry(delivery, 0, [world.make.attempt(number)])
    }
    const { started, ended, history } = await inbox.next()
    assert.deepEqual([started, ended], [MANY_ATTEMPTS, MANY_ATTEMPTS])
    assert(history.length < MANY_ATTEMPTS, `all ${history.length} attempts are kept`)
    const numbers = history.map(attempt => attempt.number)
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      numbers,
    )
    assert.equal(numbers.at(-1), MANY_ATTEMPTS, 'the latest is kept')
  })

  it('K5: a dead-lettered event that is published again has no attempts', async world => {
    const { inbox, event, delivery } = await world.deliverOne()
    await inbox.begin(delivery)
    await world.settleAsDead(inbox, delivery)
    await world.broker.publish([event!])
    assert.deepEqual(counts(await inbox.next()), [0, 0, []])
  })
}

/** How much of a channel is left, as seen by metrics. */
export function depthTests(suite: BrokerConformance): void {
  const it = inWorld(suite)
  const itKeeps = inWorldWith(suite, 'deadLetters')
  const itOrders = inWorldWith(suite, 'keyOrder')

  it('K7: depth counts the events that a handler has not settled', async world => {
    const { broker, channel, timing } = world
    const depthIs = (depth: number) =>
      timing.eventually(async () => (await broker.depth?.(channel, 'bill')) === depth, `a depth of ${depth}`)
    if (broker.depth === undefined) return
    assert.equal(await broker.depth(channel, 'bill'), 0, 'a channel that nobody knows')
    const inbox = await world.subscribe({ prefetch: 2 })
    await world.publish(4)
    await depthIs(4)
    const [first, second] = await inbox.take(2)
    await inbox.done(first!)
    await depthIs(3)
    const notBefore = timing.now() + 3_600_000
    await inbox.retry(second!, notBefore)
    await inbox.next()
    await depthIs(3)
  })

  itOrders(
    'K7: depth counts the events that wait for their key, also after their consumer has closed',
    async world => {
      const { broker, channel, timing } = world
      if (broker.depth === undefined) return
      const inbox = await world.subscribe({ ordering: 'by-key' })
      await world.publish(3, { key: 'a' })
      await inbox.retry(await inbox.next(), timing.now() + 3_600_000)
      await inbox.subscription.close()
      await timing.eventually(async () => (await broker.depth?.(channel, 'bill')) === 3, 'a depth of 3')
    },
  )

  itKeeps('K7: deadLetterDepths counts a new letter', async world => {
    const { broker, channel, timing } = world
    const depthIs = (depth: number) =>
      timing.eventually(async () => {
        const places = (await broker.deadLetterDepths?.(channel, 'bill')) ?? []
        return places.reduce((sum, place) => sum + place.depth, 0) === depth
      }, `${depth} letters`)
    if (broker.deadLetterDepths === undefined) return
    const inbox = await world.subscribe()
    await depthIs(0)
    await world.publish(1)
    await world.settleAsDead(inbox, await inbox.next(), false)
    await depthIs(1)
  })
}
