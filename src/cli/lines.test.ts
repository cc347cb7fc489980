import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linesOf } from './transfer.ts'

async function read(text: string, chunkSize: number, mostBytes?: number): Promise<(string | undefined)[]> {
  const bytes = new TextEncoder().encode(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize)
  }
  const lines: (string | undefined)[] = []
  for await (const line of linesOf(chunks(), mostBytes)) {
    expect(line.number).toBe(lines.length + 1)
    lines.push(line.text)
  }
  return lines
}

describe('lines', () => {
  it('F8: are the same however the bytes are cut, characters included', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme' }).filter(text => !/[\n\ufeff]/.test(text))),
        fc.integer({ min: 1, max: 9 }),
        async (lines, chunkSize) => {
          expect(await read(lines.map(line => `${line}\n`).join(''), chunkSize)).toEqual(lines)
        },
      ),
    )
  })

  it('F8: the last one needs no end, and one too long is skipped without being kept', async () => {
    expect(await read('a\nb', 1)).toEqual(['a', 'b'])
    expect(await read('aaaaaaaaaa\nbb\ncccc', 3, 4)).toEqual([undefined, 'bb', 'cccc'])
  })
})
