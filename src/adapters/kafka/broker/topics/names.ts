import type { KafkaSettings } from '../../options.ts'

type NameSettings = Pick<
  KafkaSettings,
  'topic' | 'group' | 'retryTopic' | 'deadLetterTopic' | 'heldTopic' | 'retryStepsMs'
>

/** The names of everything that a handler has on the cluster. */
export interface HandlerTopics {
  /** The topic of the channel. */
  readonly channel: string
  readonly group: string
  /** Things that come again at once or soon: replays, short waits, and what a consumer gives back when it closes. */
  readonly again: string
  /** The retry topics with their delays, shortest first. */
  readonly retries: readonly RetryTopic[]
  readonly letters: string
  readonly held: string
}

interface RetryTopic {
  readonly name: string
  readonly stepMs: number
}

const AGAIN = '0s'

export function channelTopic({ topic }: Pick<KafkaSettings, 'topic'>, channel: string): string {
  return topic.replace('{channel}', () => channel)
}

export function handlerTopics(settings: NameSettings, channel: string, handler: string): HandlerTopics {
  const group = settings.group
    .replace('{channel}', () => channel)
    .replace('{handler}', () => topicPart(handler))
  const named = (template: string, delay = '') =>
    template.replace('{group}', () => group).replace('{delay}', () => delay)
  return {
    channel: channelTopic(settings, channel),
    group,
    again: named(settings.retryTopic, AGAIN),
    retries: settings.retryStepsMs.map(stepMs => ({
      name: named(settings.retryTopic, durationName(stepMs)),
      stepMs,
    })),
    letters: named(settings.deadLetterTopic),
    held: named(settings.heldTopic),
  }
}

/** Whether a topic is where a handler of this channel gets its replays. */
export function isAgainTopic(settings: NameSettings, channel: string, topic: string): boolean {
  const anyGroup = settings.group.replace('{channel}', () => channel).replace('{handler}', '\n')
  const [before, after] = settings.retryTopic
    .replace('{group}', () => anyGroup)
    .replace('{delay}', AGAIN)
    .split('\n') as [string, string]
  if (!topic.startsWith(before) || !topic.endsWith(after)) return false
  return IS_HANDLER_PART.test(topic.slice(before.length, topic.length - after.length))
}

/** What the name of a handler is in names of groups and topics. */
export const HANDLER_PART = '[A-Za-z0-9_-]+'
const IS_HANDLER_PART = new RegExp(`^${HANDLER_PART}$`)

/**
 * A handler's name can have characters that a topic's name cannot have. They are written as their codes. So is a dot: handler
 * `b.c` of channel `a` would have the group of handler `c` of channel `a.b`.
 */
function topicPart(handler: string): string {
  return handler.replaceAll(/[^A-Za-z0-9_-]/g, char => `_${char.codePointAt(0)!.toString(16)}_`)
}

/** The name of a handler, from that in a group. */
export function handlerOf(part: string): string {
  return part.replaceAll(/_([2-7][0-9a-f])_/g, (all, code: string) => {
    const char = String.fromCodePoint(Number.parseInt(code, 16))
    return /[A-Za-z0-9_-]/.test(char) ? all : char
  })
}

const UNITS = [
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** `5s`, `90s`, `1500ms`: the largest unit that says it in whole numbers. */
function durationName(ms: number): string {
  const unit = UNITS.find(([size]) => ms % size === 0)
  return unit === undefined ? `${ms}ms` : `${ms / unit[0]}${unit[1]}`
}

/**
 * Returns the topic for a wait. Each topic has one delay, because a record can only be read in its turn. A wait between two
 * delays uses several topics in sequence: first the longest that is not longer than the wait. What is shorter than all of
 * them waits in the consumer.
 */
export function retryTopicFor({ again, retries }: HandlerTopics, waitMs: number): string {
  return retries.findLast(({ stepMs }) => stepMs <= waitMs)?.name ?? again
}
