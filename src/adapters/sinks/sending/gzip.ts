import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Outgoing } from './sender.ts'

/** Smaller bodies fit into a packet or two as they are. */
const FROM_BYTES = 2_048

const compress = promisify(gzip)
/** The quickest level: events are so repetitive that the others gain little and cost much. */
const QUICK = { level: constants.Z_BEST_SPEED }

/** The request with its body compressed, off this thread, when that is wanted and worth it. */
export async function gzipped(outgoing: Outgoing, isWanted: boolean): Promise<Outgoing> {
  const { body, headers } = outgoing
  if (!isWanted || body === undefined || body.byteLength < FROM_BYTES) return outgoing
  return {
    ...outgoing,
    body: await compress(body, QUICK),
    headers: { ...headers, 'content-encoding': 'gzip' },
  }
}
