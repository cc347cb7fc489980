import * as client from '@platformatic/kafka'
import { expect, it } from 'vitest'

// The adapter uses single requests of the client (>= 2.12). A version without one of them, or with other arguments, has to
// be noticed here and not on a cluster.
it.each([
  ['metadataV12', 3, 3],
  ['findCoordinatorV4', 10, 2],
  ['createTopicsV7', 19, 3],
  ['listOffsetsV7', 2, 3],
  ['initProducerIdV4', 22, 4],
  ['produceV9', 0, 4],
  ['fetchV13', 1, 9],
  ['offsetFetchV8', 9, 2],
  ['offsetCommitV9', 8, 5],
  ['consumerGroupHeartbeatV1', 68, 10],
  ['describeConfigsV4', 32, 3],
  ['incrementalAlterConfigsV1', 44, 2],
] as const)('P1: the client has the request %s', (name, key, args) => {
  const call = Reflect.get(client, name) as {
    readonly api: { readonly key: number; readonly version: number; readonly async: unknown }
    readonly createRequest: (...args: unknown[]) => unknown
  }
  expect(call.api.key).toBe(key)
  expect(`${name.replace(/V\d+$/, '')}V${call.api.version}`).toBe(name)
  expect(typeof call.api.async).toBe('function')
  const declared = /\(([^)]*)\)/.exec(call.createRequest.toString())?.[1]?.split(',').length
  expect(declared).toBe(args)
})

it('P1: the client reports errors of single partitions with the answer that has them', () => {
  const error = new client.ResponseError(1, 13, { '/': [3, null] }, { responses: [] })
  expect(error).toMatchObject({ response: { responses: [] }, errors: [{ apiCode: 3 }] })
})

it('P1: a connection of the client sends a request with a reader for its answer', () => {
  expect(client.Connection.prototype.send).toHaveLength(7)
})

it('P1: the client has what requests to publish are written with', () => {
  const written = client.Writer.create().appendString('x').appendInt16(1).appendInt32(2).appendTaggedFields()
  expect(written.buffer.length).toBeGreaterThan(0)
  for (const name of ['appendArray', 'appendUnsignedVarInt', 'append'] as const)
    expect(typeof written[name], name).toBe('function')
  // The check value of CRC-32C.
  expect(client.crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  expect(client.produceV9.parseResponse).toHaveLength(4)
})
