import { type Keys, keysOf } from '../keys.ts'

/** Which of the two streams an entry lies in: the channel's, or the one that is its handler's own. */
export type Side = 'events' | 'own'

/** Where the events of a channel are, and what each of its handlers needs. All of it is in one slot of a cluster. */
interface ChannelPlaces {
  /** The stream that everybody publishes to. Every handler is a group of it. */
  readonly events: string
  /** The names of the handlers that have ever subscribed. */
  readonly handlers: string
}

export interface HandlerPlaces extends ChannelPlaces {
  readonly channel: string
  readonly handler: string
  /** The stream of what is for this handler alone: retries, replays, and what was given back. */
  readonly own: string
  /** Retries that wait, by the time they are due. */
  readonly waiting: string
  /** Until when each consumer counts as alive. */
  readonly leases: string
  /** Lists of the attempts that each consumer has begun: when it dies, those count. */
  readonly running: string
  /** What is known of attempts of entries that are open. */
  readonly notes: string
}

export function channelPlaces(prefix: string, channel: string): ChannelPlaces {
  const keys = keysOf(prefix, channel)
  return { events: keys.of('events'), handlers: keys.of('handlers') }
}

export function handlerPlaces(prefix: string, channel: string, handler: string): HandlerPlaces {
  const keys = keysOf(prefix, channel)
  return {
    ...channelPlaces(prefix, channel),
    channel,
    handler,
    own: ownStream(keys, handler),
    waiting: keys.of('waiting', handler),
    leases: keys.of('leases', handler),
    running: keys.of('running', handler),
    notes: keys.of('notes', handler),
  }
}

export function ownStream(keys: Keys, handler: string): string {
  return keys.of('own', handler)
}
