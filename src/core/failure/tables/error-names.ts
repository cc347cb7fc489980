import { again, type Classification } from '../classification.ts'
import type { Thrown } from '../thrown.ts'

const TRANSIENT = again('error-name', 'transient')

/** Errors that have a name and no code: those of the web platform, and of clients that lost their connection. */
const CLASSIFICATIONS: ReadonlyMap<string, Classification> = new Map([
  ['TimeoutError', again('timeout', 'transient')],
  ['AbortError', TRANSIENT],
  ['MaxRetriesPerRequestError', TRANSIENT], // ioredis
  ['ClientClosedError', TRANSIENT], // node-redis, as are the next five
  ['ClientOfflineError', TRANSIENT],
  ['ConnectionTimeoutError', TRANSIENT],
  ['DisconnectsClientError', TRANSIENT],
  ['RootNodesUnavailableError', TRANSIENT],
  ['SocketClosedUnexpectedlyError', TRANSIENT],
  ['IllegalOperationError', TRANSIENT], // amqplib: the channel is closed
])

export function errorName({ name }: Thrown): Classification | undefined {
  return CLASSIFICATIONS.get(name)
}
