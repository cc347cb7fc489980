import { describe, expect, it } from 'vitest'
import { keepTable, longValue, type TableEntry, tableBody } from '../broker/wire/table.ts'
import type { AmqpProperties } from '../connection/amqp.ts'
import { collectedHeaders, unkeptHeaders } from './returned-message.ts'

const FLAGS_AT = 12
const HAS_HEADERS = 1 << 13
const text = (value: string) => longValue('S', Buffer.from(value))

/** Properties as the client reads them from a header frame with these headers. */
function properties(entries: readonly TableEntry[]): AmqpProperties {
  const body = tableBody(entries)
  const head = Buffer.alloc(FLAGS_AT + 2 + 4)
  head.writeUInt16BE(HAS_HEADERS, FLAGS_AT)
  head.writeUInt32BE(body.length, FLAGS_AT + 2)
  const read: AmqpProperties = { headers: {} }
  keepTable(read, Buffer.concat([head, body]))
  return read
}

describe('headers that a letter cannot store', () => {
  it.each<[string, string, readonly TableEntry[]]>([
    [
      'a table that has one name twice',
      "header 'twice' has a value that a letter cannot store",
      [
        {
          name: 'twice',
          value: longValue('F', tableBody(['1', '2'].map(each => ({ name: 'a', value: text(each) })))),
        },
      ],
    ],
    [
      'a name that no event can have',
      'has a name that a letter cannot store',
      [{ name: 'x'.repeat(200), value: text('y') }],
    ],
    [
      'two names that become one',
      "header 'a%20b' has a name that a letter cannot store",
      ['a b', 'a%20b'].map(name => ({ name, value: text('eu') })),
    ],
    [
      'more bytes than fit into a frame',
      'more than fits into a frame',
      ['a', 'b'].map(name => ({ name, value: text('y'.repeat(60_000)) })),
    ],
    [
      'more headers than an event can have',
      'there are 1001 headers',
      Array.from({ length: 1_001 }, (_, index) => ({ name: `h${index}`, value: text('y') })),
    ],
  ])('P2: %s: the letter says why the message cannot be sent back', (_, why, entries) => {
    const { origin } = collectedHeaders(properties(entries))
    expect(unkeptHeaders(origin)).toContain(why)
    expect(unkeptHeaders(origin)).toContain('; send it manually, or redirect it to a channel')
  })

  it('P2: nothing is said of headers that can be sent back', () => {
    const { origin } = collectedHeaders(properties([{ name: 'tenant', value: text('eu') }]))
    expect(unkeptHeaders(origin)).toBeUndefined()
  })
})
