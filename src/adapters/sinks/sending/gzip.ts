import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Outgoing } from './sender.ts'

/** Smaller bodies fit into a packet or two as they are. */
const MIN_GZIP_BYTES = 2_048

const compress = promisify(gzip)
/** The quickest level: events are so repetitive that the others gain little and cost much. */
const FASTEST = { level: constants.Z_BEST_SPEED }

/** The request with its body compressed, off this thread, when that is wanted and worth it. */
export async function gzipped(outgoing: Outgoing, isWanted: boolean): Promise<Outgoing> {
  const { body, headers } = outgoing
  if (!isWanted || body === undefined || body.byteLength < MIN_GZIP_BYTES) return outgoing
  return {
    ...outgoing,
    body: await compress(body, FASTEST),
    headers: { ...headers, 'content-encoding': 'gzip' },
  }
}
