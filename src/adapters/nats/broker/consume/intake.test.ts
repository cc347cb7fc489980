import { describe, expect, it } from 'vitest'
import { createIntakeWorld } from '../../../../../test/support/intake-world.ts'

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
})
