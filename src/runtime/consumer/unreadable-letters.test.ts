import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { SealError } from '../../core/event/errors.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { isLetterFault } from '../../ports/dead-letters.ts'
import { createFactory } from '../../testing/factories.ts'
import { LetterNotSavedError } from '../letter-saver.ts'

const missingKey = new SealError('event e1', "is sealed with key 'k1', and no key is given")

/** A consumer whose store has a letter that this process cannot read; and a replay of that letter. */
async function unreadable(handle: () => Promise<void>, isRedirected = false) {
  const errors: unknown[] = []
  const observer = { letterWriteFailed: ({ error }: { error: unknown }) => errors.push(error) }
  const shop = world({ name: 'bill', retry: { attempts: 1 }, handle, observer })
  const make = createFactory({ clock: shop.clock })
  const handler = isRedirected ? undefined : 'bill'
  const letter = make.letter({ handler: isRedirected ? 'elsewhere' : 'bill' })
  const refuse = async (id: string) => {
    if (id === letter.id) throw missingKey
    return undefined
  }
  const sent = { ...letter, state: 'replaying', replays: 1, replayId: 'r1' }
  Object.assign(shop.deadLetters, { get: isRedirected ? async () => sent : refuse, change: refuse })
  const replay = { letterId: letter.id, handler, replayId: 'r1', attempt: 1 }
  await shop.consumer.start()
  await shop.broker.publish([{ ...letter.event, headers: replayHeaders(letter.event, replay) }])
  await shop.clock.advance(1_000)
  return { ...shop, letter, errors }
}

describe('a replay whose letter cannot be read', () => {
  it('E10: is settled once it is handled, and reported with the id of its letter', async () => {
    let runs = 0
    const shop = await unreadable(async () => void runs++)
    await shop.clock.advance(60_000)
    expect(runs).toBe(1)
    expect(shop.broker.depth('orders', 'bill')).toBe(0)
    expect(shop.errors).toMatchObject([{ code: 'LAZARET_LETTER_INVALID', cause: missingKey }])
    expect(String(shop.errors[0])).toContain(shop.letter.id)
    expect(shop.consumer.health()).toMatchObject({ paused: [], settlementFailures: 0 })
    await shop.consumer.close()
  })

  it('E10: goes back to the broker if it fails again and no store can save that', async () => {
    const shop = await unreadable(async () => {
      throw refused()
    })
    expect(shop.broker.depth('orders', 'bill')).toBe(1)
    expect(shop.consumer.health()).toMatchObject({ paused: [], settlementFailures: 1 })
    await shop.consumer.close()
  })

  it('E10: becomes a letter of its handler if it fails in another channel', async () => {
    const shop = await unreadable(async () => {
      throw refused()
    }, true)
    expect(shop.broker.depth('orders', 'bill')).toBe(0)
    expect((await shop.letters()).map(({ handler }) => handler)).toEqual(['bill'])
    expect(String(shop.errors)).toContain(shop.letter.id)
    await shop.consumer.close()
  })
})

describe('a fault of a letter', () => {
  it('E10: is told from a fault of the store, also in the error of a letter that was not saved', () => {
    const letter = createFactory().letter()
    expect(isLetterFault(missingKey)).toBe(true)
    expect(isLetterFault(new LetterNotSavedError(letter, missingKey))).toBe(true)
    expect(isLetterFault(new LetterNotSavedError(letter, new Error('down')))).toBe(false)
    expect(isLetterFault(new Error('down'))).toBe(false)
  })
})
