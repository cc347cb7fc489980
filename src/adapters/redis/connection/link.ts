import { ClientMissingError } from '../../../adapter-kit/load-client.ts'
import { ReconnectingClient } from '../../../adapter-kit/reconnecting-client.ts'
import { isReplyError, RedisError } from '../errors.ts'
import { type RedisConnectionSettings, serverOf } from '../options.ts'
import { createOwnClient, type RedisClient } from './client.ts'

/** A connection of our own, which comes back by itself. */
export type Link = ReconnectingClient<RedisClient>

/** `purpose` names the connection in CLIENT LIST. */
export function createLink(settings: RedisConnectionSettings, purpose: string): Link {
  return new ReconnectingClient({
    clock: settings.clock,
    random: settings.random,
    baseMs: settings.reconnectBaseMs,
    maxMs: settings.reconnectMaxMs,
    open: (lost, signal) => open(settings, purpose, lost, signal),
    discard: client => client.destroy(),
    // A server that never let us in will not do so when asked again; one that did may change its mind.
    isPermanent: (error, wasUp) => error instanceof ClientMissingError || (!wasUp && isReplyError(error)),
    onDown: settings.onError,
  })
}

/** The error for this action: why there is no connection. */
export function linkError({ problem }: Link, doing: string, url: string): Error {
  const { message } = problem
  if (problem instanceof ClientMissingError) return problem
  // The server is there and does not let us in.
  if (isReplyError(problem)) return new RedisError(doing, 'reply', problem)
  const said = `no connection to ${serverOf(url)}: ${message}`
  return new RedisError(doing, 'unreachable', new Error(said, { cause: problem }))
}

async function open(
  { url, name, clock, timeoutMs }: RedisConnectionSettings,
  purpose: string,
  lost: (error: Error) => void,
  signal: AbortSignal,
): Promise<RedisClient> {
  const client = await createOwnClient(url!, `${name}-${purpose}`.replaceAll(/[^!-~]/g, '_'), timeoutMs)
  signal.throwIfAborted()
  const { promise: stopped, reject: stop } = Promise.withResolvers<never>()
  // A frozen server accepts the connection, and never answers on it.
  const cancel = clock.schedule(timeoutMs, () => stop(new Error(`no answer within ${timeoutMs} ms`)))
  signal.addEventListener('abort', () => stop(signal.reason), { once: true })
  client.on('error', lost)
  client.on('end', () => lost(new Error('the connection was closed')))
  try {
    await Promise.race([client.connect(), stopped])
    return client
  } catch (error) {
    if (client.isOpen) client.destroy()
    throw error
  } finally {
    cancel()
  }
}
