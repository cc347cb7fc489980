import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mostLineBytes, readLine, writeLine } from './line.ts'

const record = fc.record({ kind: fc.stringMatching(/^[a-z]{1,10}$/), text: fc.json() })

function lineOf(written: { readonly kind: string; readonly text: string }): Buffer {
  const buffer = Buffer.alloc(mostLineBytes(written))
  return buffer.subarray(0, writeLine(buffer, 0, written))
}

describe('a line of the journal', () => {
  it('E10: reads back as it was written, and is one line of JSON', () => {
    fc.assert(
      fc.property(record, written => {
        const line = lineOf(written)
        expect(line.indexOf('\n')).toBe(line.length - 1)
        expect(readLine(line.subarray(0, -1))).toEqual(written)
        expect(JSON.parse(line.toString())).toEqual({
          crc: expect.stringMatching(/^[0-9a-f]{8}$/),
          [written.kind]: JSON.parse(written.text),
        })
      }),
    )
  })

  it('E10: with any bit flipped, or cut anywhere, it is not a valid line', () => {
    fc.assert(
      fc.property(record, fc.nat(), fc.nat(7), (written, where, bit) => {
        const line = lineOf(written).subarray(0, -1)
        const at = where % line.length
        expect(readLine(line.subarray(0, at))).toBeUndefined()
        line[at]! ^= 1 << bit
        expect(readLine(line)).toBeUndefined()
      }),
    )
  })
})
