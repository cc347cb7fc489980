import { again, type Classification, giveUp } from '../classification.ts'
import { property, type Thrown, textProperty } from '../thrown.ts'

const TRANSIENT = again('redis-reply', 'transient')
const BROKEN = again('redis-reply', 'integration')
const REFUSED = giveUp('redis-reply', 'integration')
const BUSINESS = giveUp('redis-reply', 'business')

/** The first word of a reply identifies the error of Redis. */
const REPLIES: ReadonlyMap<string, Classification> = new Map([
  ['LOADING', TRANSIENT],
  ['BUSY', TRANSIENT],
  ['TRYAGAIN', TRANSIENT],
  ['CLUSTERDOWN', TRANSIENT],
  ['MASTERDOWN', TRANSIENT],
  ['READONLY', TRANSIENT], // connected to a former primary
  ['NOREPLICAS', TRANSIENT],
  ['NOGOODSLAVE', TRANSIENT],
  ['UNBLOCKED', TRANSIENT],
  ['MOVED', TRANSIENT],
  ['ASK', TRANSIENT],
  ['IOERR', TRANSIENT],
  ['OOM', BROKEN],
  ['MISCONF', BROKEN], // cannot save to disk, so it refuses writes
  ['NOAUTH', BROKEN], // login refused, for every event
  ['WRONGPASS', BROKEN],
  ['NOSCRIPT', BROKEN], // forgotten by a restart
  ['NOPERM', REFUSED],
  ['WRONGTYPE', REFUSED],
  ['CROSSSLOT', REFUSED],
  ['EXECABORT', REFUSED],
  ['NOGROUP', REFUSED],
  ['NOPROTO', REFUSED],
  ['BUSYGROUP', BUSINESS],
  ['BUSYKEY', BUSINESS],
])

/** The classes of ioredis and node-redis. Errors of node-redis have no name of their own. */
const REPLY_CLASSES = new Set(['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError'])

export function redisReply(thrown: Thrown): Classification | undefined {
  if (!REPLY_CLASSES.has(thrown.name) && !REPLY_CLASSES.has(className(thrown))) return undefined
  if (thrown.message.startsWith('ERR max number of clients')) return TRANSIENT
  const end = thrown.message.indexOf(' ')
  return REPLIES.get(end < 0 ? thrown.message : thrown.message.slice(0, end))
}

function className({ value }: Thrown): string {
  return textProperty(property(value, 'constructor'), 'name') ?? ''
}
