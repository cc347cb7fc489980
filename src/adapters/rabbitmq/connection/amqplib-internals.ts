// Every undocumented member of amqplib that this adapter uses is named in this file, checked before it is used, and pinned by
// amqplib-internals.test.ts. Read in the sources of amqplib 2.0.0, 2.0.1 and 2.3.1. Another client, or a release without one
// of these members, still works: it publishes one message at a time, and reads headers as the client decodes them.
import { nextTick } from 'node:process'
import type { Cancel, Clock } from '../../../ports/clock.ts'
import { APP_ID } from '../broker/wire/headers.ts'
import { keepTable } from '../broker/wire/table.ts'
import type { AmqpConnection, AmqpProperties } from './amqp.ts'

/** `ChannelModel.connection`, and `Channel.connection`. */
interface InnerConnection {
  /** Bytes that were read and are not a whole frame yet. amqplib >=2.0 <3 */
  rest: Buffer
  /** The largest frame that is accepted, 0 for any. Not in amqplib 2.0, whose headers are therefore not kept raw. */
  readonly maxFrameSize: number
  /** The largest frame that the server takes. amqplib >=2.0 <3 */
  readonly frameMax: number
  /** Read and reset by the heartbeat. amqplib >=2.0 <3 */
  recvSinceLastCheck: boolean
  sentSinceLastCheck: boolean
  /** The socket. amqplib >=2.0 <3 */
  readonly stream: {
    read(): Buffer | null
    write(...args: readonly unknown[]): boolean
    cork(): void
    uncork(): void
    destroy(error: Error): unknown
  }
  /** By number; null or absent for a closed channel. `buffer` leads to the socket. amqplib >=2.0 <3 */
  readonly channels: readonly (
    | { readonly channel?: unknown; readonly buffer?: { write(bytes: Buffer): boolean } }
    | null
    | undefined
  )[]
  /** Takes the next frame out of `rest` and the socket; false when there is none. amqplib >=2.0 <3 */
  recvFrame(): { readonly fields?: AmqpProperties } | false
}

/** A confirm channel. */
interface InnerChannel {
  /** The number of the channel. amqplib >=2.0 <3 */
  readonly ch: number
  /** Is called when the server confirms the next message. amqplib >=2.0 <3 */
  pushConfirmCallback(confirmed: (error: unknown) => void): void
}

/** A type with every member optional. */
type PartiallyVisible<T> = { readonly [K in keyof T]?: Partial<T[K]> }

function innerOf(owner: unknown): PartiallyVisible<InnerConnection> {
  return (owner as { readonly connection?: PartiallyVisible<InnerConnection> }).connection ?? {}
}

/**
 * Sends the bytes of one turn with one system call. The client writes each frame separately, and a call for each costs
 * more than the rest of sending a small message, here and at the server.
 */
export function gatherWrites(connection: unknown): void {
  const { stream } = innerOf(connection)
  if (stream?.write === undefined || stream.cork === undefined || stream.uncork === undefined) return
  const write = stream.write.bind(stream)
  let isGathering = false
  stream.write = (...args) => {
    if (!isGathering) {
      isGathering = true
      stream.cork?.()
      nextTick(() => {
        isGathering = false
        stream.uncork?.()
      })
    }
    return write(...args)
  }
}

/**
 * Ends a connection that does not answer when a channel is to be opened. After a quorum queue was deleted under load,
 * RabbitMQ 3.10 was seen to answer nothing for 32 s on a connection that had published to it, while heartbeats went on:
 * probably it waits for the queue's credit. A server that has said that it is short of memory or disk is waited for.
 */
export function requireAnswers(connection: AmqpConnection, clock: Clock, limitMs: number): void {
  let isBlocked = false
  connection.on('blocked', () => {
    isBlocked = true
  })
  connection.on('unblocked', () => {
    isBlocked = false
  })
  const limited = async <T>(opening: Promise<T>): Promise<T> => {
    let cancel: Cancel = () => {}
    const wait = () => {
      cancel = clock.schedule(limitMs, () => (isBlocked ? wait() : destroy(connection, limitMs)))
    }
    wait()
    try {
      return await opening
    } finally {
      cancel()
    }
  }
  const createChannel = connection.createChannel.bind(connection)
  const createConfirmChannel = connection.createConfirmChannel.bind(connection)
  connection.createChannel = () => limited(createChannel())
  connection.createConfirmChannel = options => limited(createConfirmChannel(options))
}

/** Closing in good order would wait for an answer as well. */
function destroy(connection: AmqpConnection, limitMs: number): void {
  const { stream } = innerOf(connection)
  const error = new Error(`the server did not open a channel within ${limitMs} ms`)
  if (stream?.destroy === undefined) connection.close().catch(() => {})
  else stream.destroy(error)
}

/**
 * Throws when the channel is closed already. The client reads all bytes that have come before the caller of
 * `createChannel` can listen to the channel. It emits the end of a channel once, so that a channel that closed in
 * between would always look open.
 */
export function requireOpen(channel: unknown): void {
  const { ch } = channel as Partial<InnerChannel>
  const { channels } = innerOf(channel)
  if (typeof ch !== 'number' || channels === undefined) return
  if (channels[ch]?.channel !== channel) throw new Error('the channel closed as it was opened')
}

/** Takes bytes for the channel past the client, which writes six buffers for each message. */
export interface DirectChannel {
  readonly number: number
  readonly frameMax: number
  /**
   * Returns false if the socket accepts no more for the moment. A closed channel accepts everything, and its confirms
   * have failed.
   */
  write(bytes: Buffer): boolean
  /** Registers the callback for the next written message. */
  awaitConfirm(confirmed: (error: unknown) => void): void
}

/** Returns undefined if the client does not expose the needed members, or its frames are smaller than `minFrame`. */
export function directChannel(channel: unknown, minFrame: number): DirectChannel | undefined {
  const { ch, pushConfirmCallback } = channel as Partial<InnerChannel>
  const inner = innerOf(channel) as Partial<InnerConnection>
  if (ch === undefined || pushConfirmCallback === undefined) return undefined
  if (inner.channels?.[ch]?.buffer?.write === undefined) return undefined
  if (inner.frameMax === undefined || inner.frameMax < minFrame) return undefined
  const { channels, frameMax } = inner
  return {
    number: ch,
    frameMax,
    write(bytes) {
      inner.sentSinceLastCheck = true
      return channels[ch]?.buffer?.write(bytes) !== false
    },
    awaitConfirm: confirmed => pushConfirmCallback.call(channel, confirmed),
  }
}

const HEADER_FRAME = 2
const FRAME_HEAD_BYTES = 7
const FRAME_END_BYTES = 1

/**
 * Keeps the headers of other programs' messages as they came. The client turns nine number types into one, turns bytes
 * that are not text into text, and loses a header named `__proto__`; its result cannot be sent on unchanged.
 */
export function keepRawHeaders(connection: unknown): void {
  const inner = innerOf(connection) as Partial<InnerConnection>
  if (!canBeRead(inner)) return
  const receive = inner.recvFrame.bind(inner)
  inner.recvFrame = () => {
    if (isOfOtherType(inner.rest)) return receive()
    if (!hasWholeFrame(inner)) return false
    const bytes = inner.rest
    const frame = receive()
    if (bytes[0] === HEADER_FRAME && frame !== false && frame.fields !== undefined) {
      const { headers, appId } = frame.fields
      if (headers !== undefined && appId !== APP_ID) keepTable(frame.fields, bytes, FRAME_HEAD_BYTES)
    }
    return frame
  }
}

/** Whether the type of the next frame is known to be another one. The frame may still be incomplete. */
function isOfOtherType(rest: Buffer): boolean {
  return rest.length > 0 && rest[0] !== HEADER_FRAME
}

function canBeRead(inner: Partial<InnerConnection>): inner is InnerConnection {
  return (
    typeof inner.recvFrame === 'function' &&
    Buffer.isBuffer(inner.rest) &&
    typeof inner.stream?.read === 'function' &&
    typeof inner.maxFrameSize === 'number'
  )
}

/** Reads until a frame is complete, so that it can be inspected before the client parses it. */
function hasWholeFrame(inner: InnerConnection): boolean {
  while (!isWhole(inner)) {
    const incoming = inner.stream.read()
    if (incoming === null) return false
    inner.recvSinceLastCheck = true
    inner.rest = Buffer.concat([inner.rest, incoming])
  }
  return true
}

function isWhole({ rest, maxFrameSize }: InnerConnection): boolean {
  if (rest.length < FRAME_HEAD_BYTES) return false
  const size = rest.readUInt32BE(3)
  // The client itself refuses a frame that is too large.
  return (maxFrameSize > 0 && size > maxFrameSize) || rest.length >= FRAME_HEAD_BYTES + size + FRAME_END_BYTES
}

/** The server said no to one message. The client tells it from the end of the channel by its text alone: amqplib >=2.0 <3. */
export function isNack(error: Error): boolean {
  return error.message === 'message nacked'
}

/** The client knew before us that the channel is closed. It does not export the class: amqplib >=2.0 <3. */
export function isOfClosedChannel(error: unknown): boolean {
  return (error as Error).name === 'IllegalOperationError'
}

/** 403: wrong user or password; 530: no such vhost. The client tells both by its text alone: amqplib >=2.0 <3. */
export function isRefusedHandshake(error: Error): boolean {
  const { code } = error as { readonly code?: unknown }
  return (
    code === 403 ||
    code === 530 ||
    /terminated by server: (?:403|530)|403 \(ACCESS.REFUSED\)/i.test(error.message)
  )
}
