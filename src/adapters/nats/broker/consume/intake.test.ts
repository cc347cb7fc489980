import { describe, expect, it } from 'vitest'
import { createIntakeWorld } from '../../../../../test/support/fake-nats-subscription.ts'

/** Longer than the time between two heartbeats by default. */
const HEARTBEAT_MS = 11_000

describe('Intake', () => {
  it('P1: an event that comes with the answer about its stream does not make earlier settlements forgotten', async () => {
    const { clock, stream, server, link, entries, intake, deliver, sent } = await createIntakeWorld()
    stream.store(3)
    for (const sequence of [1, 2, 3]) deliver(sequence)
    link.lose()
    for (const entry of entries) intake.ack(entry)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.answered = promise
    link.restore()
    await clock.advance(0)
    stream.store(1)
    deliver(4)
    resolve()
    await clock.advance(0)
    expect(sent).toEqual(['+ACK 1', '+ACK 2', '+ACK 3'])
  })

  it('P1: settlements wait for nothing but their own stream, and none is forgotten before it is sent', async () => {
    const { clock, stream, server, link, entries, intake, deliver, sent, pulls } = await createIntakeWorld({
      prefetch: 10_000,
    })
    server.isWithoutConsumers = true
    stream.store(8_000)
    for (let sequence = 1; sequence <= 8_000; sequence++) deliver(sequence)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.answered = promise
    link.restore()
    pulls.length = 0
    for (const entry of entries) intake.ack(entry)
    await clock.advance(0)
    expect(pulls).toEqual([])
    resolve()
    await clock.advance(0)
    expect(sent.length).toBe(8_000)
    expect(pulls.length).toBeGreaterThan(0)
  })

  it('P1: settlements that wait because their stream does not answer are reported', async () => {
    const { clock, server, link, statuses } = await createIntakeWorld()
    server.failure = new Error('no leader')
    link.restore()
    await clock.advance(5_000)
    expect(statuses).toMatchObject([{ state: 'stalled', place: 'settlements' }])
    server.failure = undefined
    await clock.advance(1_000)
    expect(statuses.at(-1)).toEqual({ state: 'recovered', place: 'settlements' })
  })

  it('P1: what a stream still has after its end was lost can be settled', async () => {
    const { clock, stream, link, entries, intake, deliver, sent } = await createIntakeWorld()
    stream.store(3)
    for (const sequence of [1, 2, 3]) deliver(sequence)
    stream.lose(3)
    link.restore()
    await clock.advance(0)
    for (const entry of entries) intake.ack(entry)
    expect(sent).toEqual(['+ACK 1', '+ACK 2'])
  })

  it('P1: settlements are not sent for the events of a stream that counts from 1 again, also if it has passed them', async () => {
    const { clock, stream, link, entries, intake, deliver, sent } = await createIntakeWorld()
    stream.store(3)
    for (const sequence of [1, 2, 3]) deliver(sequence)
    link.lose()
    intake.ack(entries[0]!)
    stream.restart()
    await clock.advance(1_000)
    stream.store(5)
    link.restore()
    await clock.advance(0)
    for (const entry of entries) intake.ack(entry)
    expect(sent).toEqual([])
  })

  it('P1: a stream that counts from 1 again is noticed without a new connection', async () => {
    const { clock, stream, entries, intake, deliver, sent } = await createIntakeWorld()
    stream.store(3)
    for (const sequence of [1, 2, 3]) deliver(sequence)
    stream.restart()
    await clock.advance(HEARTBEAT_MS)
    stream.store(3)
    sent.length = 0
    for (const entry of entries) intake.ack(entry)
    expect(sent).toEqual([])
  })

  it('P1: a server whose clock was set back does not make settlements forgotten', async () => {
    const { clock, stream, link, entries, intake, deliver, sent } = await createIntakeWorld()
    stream.store(1)
    clock.jump(-5_000)
    stream.store(2)
    for (const sequence of [1, 2, 3]) deliver(sequence)
    link.restore()
    await clock.advance(0)
    for (const entry of entries) intake.ack(entry)
    expect(sent).toEqual(['+ACK 1', '+ACK 2', '+ACK 3'])
  })

  it('P1: an answer from before a connection was lost does not verify a stream for the next one', async () => {
    const { clock, stream, server, link, entries, intake, deliver, sent } = await createIntakeWorld()
    stream.store(1)
    deliver(1)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.answered = promise
    link.restore()
    await clock.advance(0)
    link.lose()
    stream.restart()
    server.answered = new Promise(() => {})
    link.restore()
    await clock.advance(0)
    resolve()
    await clock.advance(0)
    for (const entry of entries) intake.ack(entry)
    expect(sent).toEqual([])
  })

  it('P1: an event that shows that its stream counts from 1 again waits until that is known', async () => {
    const { clock, stream, server, entries, deliver } = await createIntakeWorld()
    stream.store(5)
    await clock.advance(HEARTBEAT_MS)
    stream.restart()
    await clock.advance(1_000)
    stream.store(7)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.answered = promise
    deliver(1)
    deliver(7)
    await clock.advance(0)
    expect(entries).toEqual([])
    resolve()
    await clock.advance(0)
    expect(entries.map(({ message }) => message.sequence)).toEqual([1, 7])
  })

  /** The server has written the state of the consumer to its disk a moment before it was killed, when event 1 was not settled. */
  const KILLED = { delivered: { stream_seq: 1, consumer_seq: 1 }, num_ack_pending: 1 }

  it('P1: a consumer that takes the first event of a stream that counts from 1 again for one it has delivered is made again', async () => {
    const { clock, stream, server, entries, intake, deliver } = await createIntakeWorld()
    stream.store(5)
    for (const sequence of [1, 2, 3, 4, 5]) deliver(sequence)
    for (const entry of entries) intake.ack(entry)
    stream.restart()
    server.consumer = { ...server.consumer, ...KILLED }
    await clock.advance(1_000)
    stream.store(2)
    deliver(2)
    await clock.advance(0)
    expect(server.consumersMade).toBe(1)
    await clock.advance(3 * HEARTBEAT_MS)
    expect(server.consumersMade).toBe(1)
  })

  it('P1: a consumer that another process has made again since its stream counts from 1 again is left as it is', async () => {
    const { clock, stream, server, deliver } = await createIntakeWorld()
    stream.store(5)
    for (const sequence of [1, 2, 3, 4, 5]) deliver(sequence)
    stream.restart()
    server.consumer = { ...server.consumer, ...KILLED, created: '2026-01-01T00:01:00Z' }
    await clock.advance(1_000)
    stream.store(2)
    deliver(2)
    await clock.advance(3 * HEARTBEAT_MS)
    expect(server.consumersMade).toBe(0)
  })

  it('P1: a server whose clock was set back is asked once about the events of that time', async () => {
    const { clock, stream, server, entries, deliver } = await createIntakeWorld()
    stream.store(1)
    await clock.advance(5_000)
    stream.store(2)
    clock.jump(-3_000)
    stream.store(1)
    await clock.advance(HEARTBEAT_MS)
    deliver(1)
    deliver(2)
    await clock.advance(0)
    server.answered = new Promise(() => {})
    deliver(3)
    deliver(4)
    expect(entries.map(({ message }) => message.sequence)).toEqual([1, 2, 3, 4])
  })

  it('P1: after a consumer was made again, events that are settled already are passed without a wait', async () => {
    const { stream, entries, intake, deliver, pulls, sent } = await createIntakeWorld()
    stream.store(30)
    const first = Array.from({ length: 10 }, (_, index) => index + 1)
    for (const sequence of first) deliver(sequence)
    for (const entry of entries) intake.ack(entry)
    intake.pull()
    pulls.length = 0
    for (const sequence of first) deliver(sequence)
    expect(sent.length).toBe(20)
    expect(pulls).not.toEqual([])
  })

  it('P1: events that are here already do not keep others from being asked for', async () => {
    const { stream, entries, intake, deliver, pulls } = await createIntakeWorld()
    stream.store(30)
    const first = Array.from({ length: 5 }, (_, index) => index + 1)
    for (const sequence of first) deliver(sequence)
    intake.pull()
    pulls.length = 0
    for (const sequence of first) deliver(sequence)
    expect(entries.length).toBe(5)
    expect(pulls).not.toEqual([])
  })

  it('E21: a request for events that the server has lost is repeated after 13 seconds', async () => {
    const { clock, pulls, expirePull } = await createIntakeWorld()
    await clock.advance(10_000)
    expect(pulls).toEqual([10])
    expirePull()
    expect(pulls).toEqual([10, 10])
    await clock.advance(12_900)
    expect(pulls).toEqual([10, 10])
    await clock.advance(500)
    expect(pulls).toEqual([10, 10, 10])
  })
})
