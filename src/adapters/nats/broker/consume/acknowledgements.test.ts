import { describe, expect, it } from 'vitest'
import { Acknowledgements } from './acknowledgements.ts'

const LIMIT = 100

const ack = (sequence: number, storedAt = sequence) => ({
  sequence,
  storedAt,
  ackSubject: `ack.${sequence}`,
  word: '+ACK',
})

describe('Acknowledgements', () => {
  it('P1: the latest are remembered, the oldest first, and not without limit', () => {
    const acknowledgements = new Acknowledgements(LIMIT)
    for (let sequence = 1; sequence <= 10 * LIMIT + 30; sequence++) {
      acknowledgements.add(ack(sequence), true)
      const remembered = acknowledgements.all.map(each => each.sequence)
      const oldest = remembered[0]!
      expect(remembered).toEqual(Array.from(remembered, (_, index) => oldest + index))
      expect(remembered.at(-1)).toBe(sequence)
      expect(remembered.length).toBeGreaterThanOrEqual(Math.min(sequence, LIMIT))
      expect(remembered.length).toBeLessThanOrEqual(2 * LIMIT)
    }
  })

  it('P1: none is forgotten before it is sent', () => {
    const acknowledgements = new Acknowledgements(LIMIT)
    for (let sequence = 1; sequence <= 5 * LIMIT; sequence++) acknowledgements.add(ack(sequence), false)
    expect(acknowledgements.all.length).toBe(5 * LIMIT)
    expect(acknowledgements.get(1)).toEqual(ack(1))
  })

  it('P1: the message that uses a sequence again replaces the earlier one, and is deleted as itself only', () => {
    const acknowledgements = new Acknowledgements(LIMIT)
    for (let sequence = 1; sequence <= LIMIT; sequence++) acknowledgements.add(ack(sequence), true)
    const again = ack(7, 9_000)
    acknowledgements.add(again, true)
    expect(acknowledgements.get(7)).toEqual(again)
    expect(acknowledgements.all.filter(({ sequence }) => sequence === 7)).toEqual([again])
    expect(acknowledgements.delete(ack(7))).toBe(false)
    expect(acknowledgements.delete(again)).toBe(true)
    expect(acknowledgements.get(7)).toBeUndefined()
  })
})
