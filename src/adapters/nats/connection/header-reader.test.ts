import { headers as clientHeaders } from '@nats-io/transport-node'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { HeaderReader } from './header-reader.ts'
import { encodeHeaders, type HeaderList } from './headers.ts'

const texts = fc.oneof(
  fc.constantFrom('', '1.0', 'order.placed', 'application/json', '  padded ', 'a: b'),
  fc.string({ unit: 'grapheme', maxLength: 20 }).filter(text => !/[\r\n]/.test(text)),
)
const lists = fc.uniqueArray(fc.tuple(fc.stringMatching(/^(?:ce-[a-c]{1,2}|x-[a-c])$/), texts), {
  selector: ([name]) => name,
  maxLength: 6,
})

it('E9: headers are read as the client reads them, whatever the message before had', () => {
  fc.assert(
    fc.property(fc.array(lists, { maxLength: 8 }), messages => {
      const reader = new HeaderReader()
      for (const list of messages) {
        const ofClient = clientHeaders()
        for (const [name, value] of list) ofClient.append(name, value)
        const bytes = list.length === 0 ? encodeHeaders([]) : (ofClient as unknown as Encodable).encode()
        const asRead = [...ofClient].map(([name, [value]]) => [name, value])
        expect(reader.read(Buffer.from(bytes))).toEqual(asRead)
      }
    }),
    { seed: 31, numRuns: 300 },
  )
})

it('P2: a name with a space, a repeated name and a line without a name do not matter to the other headers', () => {
  const written = 'NATS/1.0\r\nx-a: 1\r\nno name\r\nx y: 2\r\nx-a: 3\r\n\r\n'
  const expected: HeaderList = [
    ['x-a', '1'],
    ['x y', '2'],
    ['x-a', '3'],
  ]
  const reader = new HeaderReader()
  expect(reader.read(Buffer.from(written))).toEqual(expected)
  expect(reader.read(Buffer.from(written))).toEqual(expected)
})

it.each(['', 'NATS/1.0', 'x'.repeat(40), 'NATS/1.0 100 Idle Heartbeat\r\n\r\n', '{"json":1}\r\n\r\n'])(
  'P2: %j is not taken for headers',
  text => {
    expect(new HeaderReader().read(Buffer.from(text))).toBeUndefined()
  },
)

interface Encodable {
  encode(): Uint8Array
}
