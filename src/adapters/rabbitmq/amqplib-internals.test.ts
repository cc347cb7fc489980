import { type EventEmitter, once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../testing/fake-clock.ts'
import type { Outgoing } from './broker/wire/event-codec.ts'
import { rawHeaders } from './broker/wire/table.ts'
import type { AmqpConnection, AmqpProperties } from './connection/amqp.ts'
import {
  directChannel,
  gatherWrites,
  isNack,
  isOfClosedChannel,
  isRefusedHandshake,
  keepRawHeaders,
  requireAnswers,
  requireOpen,
} from './connection/amqplib-internals.ts'
import { Frames } from './connection/frames.ts'
import { readDeaths } from './letters/failures.ts'

// The adapter uses members of amqplib that amqplib does not document. These tests run the installed amqplib on a socket that
// leads nowhere, and fail when one of the members is gone or means something else.

interface Inner extends EventEmitter {
  stream: Duplex
  rest: Buffer
  frameMax: number
  maxFrameSize: number
  sentSinceLastCheck: boolean
  recvSinceLastCheck: boolean
  channels: unknown[]
  open(options: object, done: (error: Error | null) => void): void
  recvFrame(): { fields?: AmqpProperties } | false
}
interface InnerChannel extends EventEmitter {
  ch: number
  allocate(): void
  toClosed(): void
  publish(...args: readonly unknown[]): boolean
}

const require = createRequire(import.meta.url)
const lib = (file: string) => require(join(dirname(require.resolve('amqplib')), 'lib', file))
const { Connection } = lib('connection.js') as { Connection: new (socket: Duplex) => Inner }
const { ChannelModel, ConfirmChannel } = lib('channel_model.js') as {
  ChannelModel: new (connection: Inner) => AmqpConnection & { readonly connection: Inner }
  ConfirmChannel: new (connection: Inner) => InnerChannel
}
const codec = lib('codec.js') as {
  encodeTable(bytes: Buffer, table: object, offset: number): number
  decodeFields(table: Buffer): { readonly [name: string]: unknown }
}
const defs = lib('defs.js') as {
  readonly ConnectionStart: number
  readonly ConnectionClose: number
  encodeMethod(id: number, channel: number, fields: object): Buffer
}

class Socket extends Duplex {
  readonly written: Buffer[] = []
  /** How often the system was called. */
  calls = 0
  override _read(): void {}
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.calls++
    this.written.push(chunk)
    this.emit('sent')
    done()
  }
  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.calls++
    this.written.push(...chunks.map(({ chunk }) => chunk))
    this.emit('sent')
    done()
  }
}

function connect() {
  const socket = new Socket()
  const connection = new Connection(socket)
  connection.frameMax = 131_072
  return { socket, connection, model: new ChannelModel(connection) }
}

function openChannel(connection: Inner): InnerChannel {
  const channel = new ConfirmChannel(connection)
  channel.allocate()
  return channel
}

const message: Outgoing = {
  route: { exchange: 'x', routingKey: 'k' },
  content: Buffer.from('{}'),
  properties: { deliveryMode: 2, headers: { count: 7 } },
}

describe('undocumented members of the installed amqplib', () => {
  it('F1: connection.stream takes cork and uncork, and every frame goes through its write', async () => {
    const { socket, connection, model } = connect()
    gatherWrites(model)
    for (let frame = 0; frame < 3; frame++) connection.stream.write(Buffer.from('frame'))
    expect(socket.calls).toBe(0)
    await once(socket, 'sent')
    expect([socket.calls, socket.written.length]).toEqual([1, 3])
  })

  it('B7: connection.stream.destroy ends a connection that does not answer', async () => {
    const { connection, model } = connect()
    const clock = new FakeClock()
    connection.stream.on('error', () => {})
    model.createChannel = () => new Promise(() => {})
    requireAnswers(model, clock, 1_000)
    void model.createChannel()
    await clock.advance(1_000)
    expect(connection.stream.destroyed).toBe(true)
  })

  it('F5: connection.channels holds a channel under channel.ch until it is closed', () => {
    const channel = openChannel(connect().connection)
    expect(() => requireOpen(channel)).not.toThrow()
    channel.toClosed()
    expect(() => requireOpen(channel)).toThrow('the channel closed as it was opened')
  })

  it('F1: what is written to the buffer of a channel reaches the socket, and counts for the heartbeat', async () => {
    const { socket, connection } = connect()
    const channel = openChannel(connection)
    const direct = directChannel(channel, 65_536)!
    expect([direct.number, direct.frameMax]).toEqual([channel.ch, 131_072])
    expect(connection.sentSinceLastCheck).toBe(false)
    expect(direct.write(Buffer.from('bytes'))).toBe(true)
    await once(socket, 'sent')
    expect(Buffer.concat(socket.written).toString()).toBe('bytes')
    expect(connection.sentSinceLastCheck).toBe(true)
    channel.toClosed()
    expect(direct.write(Buffer.from('nowhere'))).toBe(true)
  })

  it('F1: pushConfirmCallback is called with the next confirmation, and a nack is told by its text', () => {
    const channel = openChannel(connect().connection)
    const direct = directChannel(channel, 65_536)!
    const told: unknown[] = []
    for (let sent = 0; sent < 2; sent++) direct.awaitConfirm(error => told.push(error))
    channel.emit('ack', { deliveryTag: 1, multiple: false })
    channel.emit('nack', { deliveryTag: 2, multiple: false })
    expect(told[0]).toBeNull()
    expect(isNack(told[1] as Error)).toBe(true)
  })

  it('F1: a closed channel throws IllegalOperationError', () => {
    const channel = openChannel(connect().connection)
    channel.toClosed()
    let thrown: unknown
    try {
      channel.publish('', 'q', Buffer.from('x'), {}, () => {})
    } catch (error) {
      thrown = error
    }
    expect(isOfClosedChannel(thrown)).toBe(true)
  })

  it('F8: recvFrame takes frames from rest and the stream, and shows the properties of a message', async () => {
    const { socket, connection, model } = connect()
    keepRawHeaders(model)
    expect(connection.recvFrame()).toBe(false)
    const bytes = Frames.alone(1, message, 131_072)!
    // In two pieces, of which the first ends within the frame of the headers.
    for (const piece of [bytes.subarray(0, 40), bytes.subarray(40)]) {
      socket.push(piece)
      await once(connection.stream, 'readable')
      if (piece.length === 40) expect(connection.recvFrame()).not.toBe(false)
    }
    const frame = connection.recvFrame()
    if (frame === false || frame.fields === undefined) throw new Error('no header frame')
    expect(frame.fields.headers).toEqual({ count: 7 })
    expect(rawHeaders(frame.fields)).toEqual([{ name: 'count', value: Buffer.from([0x49, 0, 0, 0, 7]) }])
    expect(connection.recvSinceLastCheck).toBe(true)
    expect([connection.maxFrameSize > 0, Buffer.isBuffer(connection.rest)]).toEqual([true, true])
  })

  it('F8: a timestamp in a header is an object with a value', () => {
    const bytes = Buffer.alloc(100)
    const length = codec.encodeTable(bytes, { time: { '!': 'timestamp', value: 1_700_000_000 } }, 0)
    const { time } = codec.decodeFields(bytes.subarray(4, length))
    const headers = { 'x-death': [{ queue: 'q', time }] }
    expect(readDeaths(headers)).toMatchObject([{ queue: 'q', at: 1_700_000_000_000 }])
  })

  it.each([403, 530])('F7: a handshake that the server ends with %i is told by its text', async replyCode => {
    const { socket, connection } = connect()
    const ended = new Promise<Error | null>(resolve => {
      const clientProperties = {}
      const options = { clientProperties, mechanism: 'PLAIN', response: Buffer.alloc(0), locale: 'en_US' }
      connection.open({ ...options, virtualHost: '/', frameMax: 0, channelMax: 0, heartbeat: 0 }, resolve)
    })
    const start = { versionMajor: 0, versionMinor: 9, serverProperties: {} }
    const texts = { mechanisms: Buffer.from('PLAIN'), locales: Buffer.from('en_US') }
    socket.push(defs.encodeMethod(defs.ConnectionStart, 0, { ...start, ...texts }))
    const close = { replyCode, replyText: 'no', classId: 0, methodId: 0 }
    socket.push(defs.encodeMethod(defs.ConnectionClose, 0, close))
    const error = await ended
    expect(isRefusedHandshake(error!)).toBe(true)
  })
})
