import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import type { LetterInput } from '../core/dead-letter/create.ts'

const LETTERS = '/api/v1/dead-letters'
const KAFKA = { broker: 'kafka', brokerKind: 'kafka' }

/** A server whose letters came from a broker that is not their store. `answer` is what the broker does when asked. */
function world(answer: (eventId: string) => Promise<void> = async () => {}) {
  const asked: string[] = []
  const kafka = {
    ...{ name: 'kafka', kind: 'kafka', publish: async () => {} },
    async unblockKey(channel: string, eventId: string, handler?: string) {
      asked.push(`${channel} ${eventId} ${handler}`)
      await answer(eventId)
    },
  }
  const base = serverWorld({ brokers: [kafka] })
  const { make, tell } = base
  const keyed = (more: Partial<LetterInput> = {}) =>
    make.letter({ event: make.event({ key: 'a' }), origin: KAFKA, ordering: 'by-key', ...more })
  const discardAll = async () => {
    const { count, until, digest } = (await tell(`${LETTERS}/discard/preview`, { filter: {} })).body
    return tell(`${LETTERS}/discard`, {
      filter: {},
      expectedCount: count,
      until,
      digest,
      reason: 'test orders',
    })
  }
  const discard = (id: string) =>
    tell(`${LETTERS}/${encodeURIComponent(id)}/discard`, { reason: 'test order' })
  return { ...base, asked, keyed, discard, discardAll }
}

describe('the keys of letters whose broker is not their store', () => {
  it('B9: discarding lets the later events of the key go on, and the audit log has it once', async () => {
    const { keyed, bury, discard, asked, audited } = world()
    const [letter] = await bury(keyed())
    const { body } = await discard(letter!.id)
    expect(body).toMatchObject({ state: 'discarded', ordering: 'by-key' })
    expect(body.stillBlocked).toBeUndefined()
    expect(asked).toEqual([`orders ${letter!.event.id} bill`])
    expect(await audited()).toEqual([
      `local letter.unblock ${letter!.id}`,
      `local letter.discard ${letter!.id}`,
    ])
  })

  it('B9: discarding every letter that matches lets the later events of their keys go on', async () => {
    const { keyed, bury, discardAll, asked, audited } = world()
    const letters = await bury(keyed(), keyed({ ordering: 'none' }), keyed({ ordering: undefined }))
    expect((await discardAll()).body).toEqual({ changed: 3 })
    const blocking = letters.filter(({ ordering }) => ordering !== 'none')
    expect(asked.sort()).toEqual(blocking.map(({ event }) => `orders ${event.id} bill`).sort())
    expect((await audited()).filter(entry => entry.includes('letter.unblock'))).toHaveLength(2)
  })

  it('B9: a broker that refuses leaves the letter discarded, and the answer says which key is blocked and what to do', async () => {
    const { keyed, bury, discard, store, audited } = world(() =>
      Promise.reject(new Error('connect ECONNREFUSED')),
    )
    const [letter] = await bury(keyed())
    const { status, body } = await discard(letter!.id)
    expect({ status, state: body.state }).toEqual({ status: 200, state: 'discarded' })
    expect(body.stillBlocked).toEqual({
      count: 1,
      ids: [letter!.id],
      problems: [
        `events of the key of ${letter!.id} still wait: broker 'kafka' failed (connect ECONNREFUSED); make it reachable. Then run: lazaret dlq unblock ${letter!.id}`,
      ],
    })
    expect((await store.deadLetters.get(letter!.id))?.state).toBe('discarded')
    expect(await audited()).toEqual([
      `local letter.discard.partial ${letter!.id}`,
      `local letter.unblock.failed ${letter!.id}`,
      `local letter.unblock ${letter!.id}`,
      `local letter.discard ${letter!.id}`,
    ])
  })

  it('B9: a broker that does not answer holds up a discard of many letters once', async () => {
    const { keyed, bury, discardAll, asked, clock } = world(() => new Promise(() => {}))
    const letters = await bury(...Array.from({ length: 60 }, () => keyed()))
    const discarding = discardAll()
    await expect.poll(() => asked.length).toBe(25)
    await clock.advance(10_000)
    const { body } = await discarding
    expect(body).toMatchObject({ changed: 60, stillBlocked: { count: 60 } })
    expect([...body.stillBlocked.ids].sort()).toEqual(letters.map(({ id }) => id).sort())
    expect(body.stillBlocked.problems).toHaveLength(1)
    expect(body.stillBlocked.problems[0]).toContain(
      "events of the keys of 60 discarded letters still wait: broker 'kafka' did not answer within 10 s; make it reachable. Then run: lazaret dlq unblock ",
    )
    expect(asked.length).toBeLessThan(60)
  })

  it('B9: a letter of a broker that the server does not have is reported', async () => {
    const { keyed, bury, discard, asked } = world()
    const [letter] = await bury(keyed({ origin: { broker: 'nats', brokerKind: 'nats' } }))
    const { stillBlocked } = (await discard(letter!.id)).body
    expect(stillBlocked.problems[0]).toContain("no nats broker named 'nats' is configured")
    expect(asked).toEqual([])
  })
})
