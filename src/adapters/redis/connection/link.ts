import { ClientMissingError } from '../../../adapter-kit/load-client.ts'
import { ReconnectingClient } from '../../../adapter-kit/reconnecting-client.ts'
import { settlesWithin } from '../../../ports/clock.ts'
import { isReplyError, RedisError } from '../errors.ts'
import { type RedisConnectionSettings, serverOf } from '../options.ts'
import { type AnyRedisClient, createOwnClient, type RedisClient } from './client.ts'

/** A connection of our own, which comes back by itself. */
export type Link = ReconnectingClient<AnyRedisClient>

/** `purpose` names the connection in CLIENT LIST. */
export function createLink(settings: RedisConnectionSettings, purpose: string): Link {
  return new ReconnectingClient<AnyRedisClient>({
    ...backoffOf(settings),
    open: (lost, signal) => open(settings, purpose, lost, signal),
    discard: client => client.destroy(),
    // A server that never let us in will not do so when asked again; one that did may change its mind.
    isPermanent: (error, wasUp) => error instanceof ClientMissingError || (!wasUp && isReplyError(error)),
  })
}

/**
 * A connection by duplicates of the caller's client. A duplicate reconnects by the caller's rules. A new duplicate replaces
 * one that cannot connect or has closed itself, because not every kind of client can connect twice.
 */
export function createDuplicateLink(settings: RedisConnectionSettings, client: AnyRedisClient): Link {
  return new ReconnectingClient<AnyRedisClient>({
    ...backoffOf(settings),
    open: (_, signal) => openDuplicate(settings, client, signal),
    discard: duplicate => void destroyIfOpen(duplicate, settings.onError),
    isPermanent: () => false,
  })
}

/** Never throws, as a client may do that has closed itself or the connection to one of its nodes. */
export async function destroyIfOpen(
  client: AnyRedisClient,
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    if (client.isOpen) await client.destroy()
  } catch (error) {
    onError(error)
  }
}

/** The error for this action: why there is no connection. Without a URL the connection is a duplicate of a client. */
export function linkError({ problem }: Link, doing: string, url: string | undefined): Error {
  const { message } = problem
  if (problem instanceof ClientMissingError) return problem
  // The server is there and does not let us in.
  if (isReplyError(problem)) return new RedisError(doing, 'reply', problem)
  const whereTo = url === undefined ? 'by a duplicate of the given client' : `to ${serverOf(url)}`
  const said = `no connection ${whereTo}: ${message}`
  return new RedisError(doing, 'unreachable', new Error(said, { cause: problem }))
}

function backoffOf(settings: RedisConnectionSettings) {
  return {
    clock: settings.clock,
    random: settings.random,
    baseMs: settings.reconnectBaseMs,
    maxMs: settings.reconnectMaxMs,
    onDown: settings.onError,
  }
}

/** A client that connects, and how to end that. */
interface Connecting {
  readonly connected: Promise<unknown>
  /**
   * Destroys the client, which nobody wants any more. node-redis continues with a socket that is being connected, and it would keep
   * the process alive. So this waits until the client has its socket, or has failed.
   */
  giveUp(): Promise<void>
}

function connect(client: AnyRedisClient, { clock, timeoutMs, onError }: RedisConnectionSettings): Connecting {
  const hasSocket = new Promise(resolve => client.on('connect', resolve))
  const connected = client.connect()
  const giveUp = async () => {
    await settlesWithin(clock, timeoutMs, Promise.race([hasSocket, connected]))
    await destroyIfOpen(client, onError)
  }
  return { connected, giveUp }
}

/** Without a time limit of its own: the client of the caller has one. */
async function openDuplicate(
  settings: RedisConnectionSettings,
  client: AnyRedisClient,
  signal: AbortSignal,
): Promise<AnyRedisClient> {
  const { onError } = settings
  const duplicate = client.duplicate()
  duplicate.on('error', onError)
  const { connected, giveUp } = connect(duplicate, settings)
  signal.addEventListener('abort', () => void giveUp(), { once: true })
  try {
    await connected
    return duplicate
  } catch (error) {
    if (!signal.aborted) onError(error)
    await destroyIfOpen(duplicate, onError)
    throw error
  }
}

async function open(
  settings: RedisConnectionSettings,
  purpose: string,
  lost: (error: Error) => void,
  signal: AbortSignal,
): Promise<RedisClient> {
  const { url, name, clock, timeoutMs } = settings
  const client = await createOwnClient(url!, `${name}-${purpose}`.replaceAll(/[^!-~]/g, '_'), timeoutMs)
  signal.throwIfAborted()
  const { promise: stopped, reject: stop } = Promise.withResolvers<never>()
  // A frozen server accepts the connection, and never answers on it.
  const cancel = clock.schedule(timeoutMs, () => stop(new Error(`no answer within ${timeoutMs} ms`)))
  signal.addEventListener('abort', () => stop(signal.reason), { once: true })
  client.on('error', lost)
  client.on('end', () => lost(new Error('the connection was closed')))
  const { connected, giveUp } = connect(client, settings)
  try {
    await Promise.race([connected, stopped])
    return client
  } catch (error) {
    void giveUp()
    throw error
  } finally {
    cancel()
  }
}
