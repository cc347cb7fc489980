/** The streams of a channel, and the subjects of a handler in them. */
export interface HandlerNames {
  readonly channel: string
  readonly handler: string
  /** The durable consumer, in the stream of the channel and in the retry stream. */
  readonly consumer: string
  readonly streams: ChannelStreams
  /** What comes again to this handler: retries and replays. */
  readonly retrySubject: string
  readonly letterSubject: string
  /** Begins the subjects of what the handler keeps in the state stream. */
  readonly stateSubject: string
}

/** The names of the streams of a channel. */
export interface ChannelStreams {
  /** The events. */
  readonly events: string
  /** What comes again to one handler. A message is removed when that handler has settled it. */
  readonly retries: string
  /** The latest state of what waits for others, and of attempts that may crash their process. */
  readonly state: string
  readonly letters: string
}

const PREFIX = 'LAZARET'
const SUBJECT_PREFIX = 'lazaret'

/**
 * Streams have names in capitals by custom. A channel that has capitals of its own keeps them as they are, because
 * `Orders` and `orders` are two channels. The name of a stream has no dots.
 */
export function streamName(channel: string): string {
  const name = channel.replaceAll('.', '_')
  return name === name.toLowerCase() ? name.toUpperCase() : name
}

export function streamsOf(channel: string): ChannelStreams {
  const events = streamName(channel)
  return {
    events,
    retries: `${PREFIX}_RETRY_${events}`,
    state: `${PREFIX}_STATE_${events}`,
    letters: `${PREFIX}_DLQ_${events}`,
  }
}

/** The subjects of each stream of a channel. */
export function subjectsOf(channel: string): Readonly<Record<keyof ChannelStreams, string>> {
  return {
    events: `${channel}.>`,
    retries: retrySubject(channel, '>'),
    state: `${SUBJECT_PREFIX}.state.${channel}.>`,
    letters: `${SUBJECT_PREFIX}.dlq.${channel}.>`,
  }
}

/** The subject of a stream of events that has not all its consumers yet: nobody publishes there. */
export function makingSubject(stream: string): string {
  return `${SUBJECT_PREFIX}.making.${stream}`
}

export function namesOf(channel: string, handler: string): HandlerNames {
  const consumer = toToken(handler)
  return {
    channel,
    handler,
    consumer,
    streams: streamsOf(channel),
    retrySubject: retrySubject(channel, consumer),
    letterSubject: `${SUBJECT_PREFIX}.dlq.${channel}.${consumer}`,
    stateSubject: `${SUBJECT_PREFIX}.state.${channel}.${consumer}`,
  }
}

/** `consumer` is the name of the handler as a token. */
export function retrySubject(channel: string, consumer: string): string {
  return `${SUBJECT_PREFIX}.retry.${channel}.${consumer}`
}

/** Events are published under their type, so that other programs can ask for some types only. */
export function eventSubject(channel: string, type: string): string {
  const tokens = type.split('.')
  const isSubject = tokens.every(token => token !== '')
  return `${channel}.${isSubject ? tokens.map(toToken).join('.') : toToken(type)}`
}

/** A text as one token of a subject. Characters that a token or a consumer name cannot have are written as `=hex`. */
export function toToken(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/gu, char =>
    [...Buffer.from(char)].map(byte => `=${byte.toString(16).padStart(2, '0')}`).join(''),
  )
}

/** The text of a token. */
export function fromToken(token: string): string {
  return token.replaceAll(/(?:=[0-9a-f]{2})+/g, run =>
    Buffer.from(run.replaceAll('=', ''), 'hex').toString('utf8'),
  )
}
