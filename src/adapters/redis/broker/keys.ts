import { keysOf } from '../keys.ts'

/** The stream of an entry: that of the channel, or that of the handler. */
export type Side = 'events' | 'own'

/** The keys of one handler of a channel. All of them lie in one slot of a cluster. */
export interface HandlerKeys {
  readonly channel: string
  readonly handler: string
  /** The stream that everybody publishes to. Every handler is a group of it. */
  readonly events: string
  /** The names of the handlers that have ever subscribed. */
  readonly handlers: string
  /** The stream for this handler alone: retries, replays and released events. */
  readonly own: string
  /** Retries that wait, by the time they are due. */
  readonly waiting: string
  /** The end of each consumer's lease. */
  readonly leases: string
  /** Lists of the attempts that each consumer has begun: when it dies, those count. */
  readonly running: string
  /** The attempt logs of open entries. */
  readonly notes: string
}

export function eventsKey(prefix: string, channel: string): string {
  return keysOf(prefix, channel).of('events')
}

export function ownKey(prefix: string, channel: string, handler: string): string {
  return keysOf(prefix, channel).of('own', handler)
}

export function handlerKeys(prefix: string, channel: string, handler: string): HandlerKeys {
  const keys = keysOf(prefix, channel)
  return {
    channel,
    handler,
    events: eventsKey(prefix, channel),
    handlers: keys.of('handlers'),
    own: ownKey(prefix, channel, handler),
    waiting: keys.of('waiting', handler),
    leases: keys.of('leases', handler),
    running: keys.of('running', handler),
    notes: keys.of('notes', handler),
  }
}
