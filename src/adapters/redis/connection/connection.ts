import { ReconnectingClient } from '../../../adapter-kit/reconnecting-client.ts'
import type { Cancel } from '../../../ports/clock.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { isNeverSent, isReplyError, RedisError } from '../errors.ts'
import type { RedisConnectionSettings } from '../options.ts'
import { type AnyRedisClient, isReady, type RedisArgument, sendBy } from './client.ts'
import { Deadlines, type Pending } from './deadlines.ts'
import { createDuplicateLink, createLink, destroyIfOpen, type Link, linkError } from './link.ts'

export interface SendOptions {
  /** The first key that the command uses [none]. A cluster client finds the node by it. */
  readonly key?: string | undefined
  /** How long the server may block on the command, in ms, on top of the time that any call has [0]. */
  readonly blockMs?: number | undefined
  /** Whether the command may run twice: it is sent again when the connection breaks before the answer [false]. */
  readonly idempotent?: boolean | undefined
  /** Whether the command fails with the first attempt to connect that fails, because a person waits [false]. */
  readonly failOnFirstConnect?: boolean | undefined
  /** Whether the command fails at once while the connection is lost or the server loads its data [false]. */
  readonly failWhileDisconnected?: boolean | undefined
  /** Whether texts come as buffers [false]. A string has lost the bytes that are not UTF-8. */
  readonly asBytes?: boolean | undefined
}

interface Call extends Pending {
  readonly doing: string
  readonly args: readonly RedisArgument[]
  readonly options: SendOptions
  /** The number of answers before this call. */
  readonly heardBefore: number
  client: AnyRedisClient | undefined
  /** The answer of a server that takes the call later. */
  refusal: RedisError | undefined
  /** The pause before the call goes to such a server again. */
  pauseMs: number
  isOver: boolean
  stopWaiting: Cancel
  stopBlocking: Cancel
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/** Texts come as texts, whatever the caller's own client maps them to. */
const AS_TEXT = { typeMapping: {} }
/** RESP marks a text by `$`, which has the code 36. node-redis finds the mapping by that code. */
const AS_BYTES = { typeMapping: { 36: Buffer } }
/** The first pause before a server is asked again that takes the call later. It doubles each time. */
const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 400
const NOTHING_TO_CANCEL: Cancel = () => {}
const NO_OPTIONS: SendOptions = {}

/**
 * One connection. It guarantees that a call ends in time: with its answer, or with a RedisError that says whether the
 * server can have executed it. Without a connection a call waits for the next one, within the same time.
 */
export class RedisConnection {
  readonly #settings: RedisConnectionSettings
  readonly #given: AnyRedisClient | undefined
  readonly #link: Link | undefined
  readonly #deadlines: Deadlines
  readonly #calls = new Set<Call>()
  #heard = 0
  #isClosed = false

  private constructor(settings: RedisConnectionSettings, over: Link | AnyRedisClient) {
    const isLink = over instanceof ReconnectingClient
    this.#settings = settings
    this.#link = isLink ? over : undefined
    this.#given = isLink ? undefined : over
    this.#deadlines = new Deadlines(settings.clock, settings.timeoutMs)
  }

  /** Connects when it is first used. `purpose` names a connection of our own in CLIENT LIST. */
  static of(settings: RedisConnectionSettings, purpose: string): RedisConnection {
    const { client } = settings
    if (client !== undefined) return new RedisConnection(settings, client)
    return new RedisConnection(settings, createLink(settings, purpose))
  }

  /** Another one to the same server: for calls that block, or that must not wait behind others. */
  another(purpose: string): RedisConnection {
    const { client } = this.#settings
    if (client === undefined) return RedisConnection.of(this.#settings, purpose)
    return new RedisConnection(this.#settings, createDuplicateLink(this.#settings, client))
  }

  send(doing: string, args: readonly RedisArgument[], options: SendOptions = NO_OPTIONS): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new StoreClosedError(this.#settings.name))
    return new Promise((resolve, reject) => this.#start({ doing, args, options, resolve, reject }))
  }

  /** Running commands are rejected. Closing twice is safe. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const call of [...this.#calls]) this.#fail(call, new StoreClosedError(this.#settings.name))
    this.#deadlines.close()
    const last = this.#link?.close()
    if (last !== undefined) await destroyIfOpen(last, this.#settings.onError)
  }

  #start(asked: Pick<Call, 'doing' | 'args' | 'options' | 'resolve' | 'reject'>): void {
    const { clock } = this.#settings
    const { blockMs } = asked.options
    const call: Call = {
      ...asked,
      client: undefined,
      refusal: undefined,
      pauseMs: FIRST_PAUSE_MS,
      isOver: false,
      dueAtTick: 0,
      heardBefore: this.#heard,
      stopWaiting: NOTHING_TO_CANCEL,
      stopBlocking: NOTHING_TO_CANCEL,
      expire: () => this.#expire(call),
    }
    this.#calls.add(call)
    if (blockMs === undefined) this.#deadlines.add(call)
    else call.stopBlocking = clock.schedule(blockMs, () => this.#deadlines.add(call))
    this.#dispatch(call)
  }

  #dispatch(call: Call): void {
    const client = this.#given ?? this.#link?.current
    if (call.options.failWhileDisconnected === true && this.#given !== undefined && !isReady(this.#given))
      this.#fail(call, new RedisError(call.doing, 'unreachable', new Error('the client is not connected')))
    else if (client !== undefined) this.#write(call, client)
    else if (call.options.failWhileDisconnected === true && this.#link!.isLost)
      this.#fail(call, this.#noConnection(call))
    else
      call.stopWaiting = this.#link!.onNext(next => {
        if (next === undefined) this.#fail(call, this.#noConnection(call))
        else this.#write(call, next)
      }, call.options.failOnFirstConnect === true)
  }

  #write(call: Call, client: AnyRedisClient): void {
    const { args, options } = call
    call.client = client
    sendBy(client, options.key, args, options.asBytes === true ? AS_BYTES : AS_TEXT).then(
      answer => this.#answered(call, answer),
      (error: unknown) => this.#refused(call, error),
    )
  }

  #answered(call: Call, reply: unknown): void {
    this.#heard += 1
    if (this.#end(call)) call.resolve(reply)
  }

  #refused(call: Call, error: unknown): void {
    if (isReplyError(error)) this.#answeredNo(call, error)
    else {
      const wasSent = !isNeverSent(error)
      // A duplicate of the caller's client has given up by the caller's rules.
      if (call.client?.isOpen === false) this.#link?.drop(call.client, error as Error)
      if ((!wasSent || call.options.idempotent === true) && this.#canGoAgain(call)) this.#dispatch(call)
      else this.#fail(call, new RedisError(call.doing, wasSent ? 'lost' : 'unreachable', error))
    }
  }

  #answeredNo(call: Call, error: Error): void {
    this.#heard += 1
    const refusal = new RedisError(call.doing, 'reply', error)
    const canWait = !call.isOver && call.options.failWhileDisconnected !== true
    if (canWait && this.#isPassing(refusal)) this.#later(call, refusal)
    else this.#fail(call, refusal)
    // The name of the server may lead to another one by now.
    if (refusal.reply === 'READONLY') this.#link?.drop(call.client!, error)
  }

  /**
   * Whether the server has executed nothing, and will take the same call soon. It has just started and reads its data: the
   * caller's own client waits for that by its own rules. Or a cluster moves the keys of the call to another node, and has not
   * moved all of them: no client waits for that.
   */
  #isPassing({ reply }: RedisError): boolean {
    return reply === 'TRYAGAIN' || (reply === 'LOADING' && this.#link !== undefined)
  }

  /** Within the time that the call has. After that it fails with this refusal. */
  #later(call: Call, refusal: RedisError): void {
    call.client = undefined
    call.refusal = refusal
    call.stopWaiting = this.#settings.clock.schedule(call.pauseMs, () => this.#dispatch(call))
    call.pauseMs = Math.min(MAX_PAUSE_MS, 2 * call.pauseMs)
  }

  /** The caller's own client reconnects by its own rules, and may refuse every command immediately and permanently. */
  #canGoAgain({ isOver, client }: Call): boolean {
    return !isOver && this.#link !== undefined && this.#link.current !== client
  }

  #expire(call: Call): void {
    const { doing, client, heardBefore, refusal } = call
    const problem = new Error(`no answer within ${this.#settings.timeoutMs} ms`)
    if (client === undefined) this.#fail(call, refusal ?? this.#noConnection(call))
    else this.#fail(call, new RedisError(doing, 'silent', problem))
    // Nothing has arrived on the connection since, so it may be dead.
    if (client !== undefined && this.#heard === heardBefore) this.#link?.drop(client, problem)
  }

  #noConnection({ doing }: Call): Error {
    return linkError(this.#link!, doing, this.#settings.url)
  }

  #fail(call: Call, error: Error): void {
    if (this.#end(call)) call.reject(error)
  }

  #end(call: Call): boolean {
    if (call.isOver) return false
    call.isOver = true
    call.stopWaiting()
    call.stopBlocking()
    this.#calls.delete(call)
    this.#deadlines.end(call)
    return true
  }
}
