import { murmur2 as reference } from '@platformatic/kafka'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { murmur2, partitionOf } from './murmur2.ts'

it('E21: a key has the hash that the Java client gives it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), key => {
      expect(murmur2(key)).toBe(reference(Buffer.from(key)))
    }),
    { seed: 22, numRuns: 500 },
  )
})

// From the tests of Kafka itself: UtilsTest.testMurmur2.
it.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])('E21: the hash of %s is that of Kafka', (text, hash) => {
  expect(murmur2(Buffer.from(text))).toBe(hash)
  expect(partitionOf(Buffer.from(text), 7)).toBe((hash & 0x7fffffff) % 7)
})
