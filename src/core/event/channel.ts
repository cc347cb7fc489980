import { Faults } from '../options/faults.ts'
import type { Rule } from '../options/rules.ts'
import { show } from '../options/show.ts'
import { EventError } from './errors.ts'

export const MAX_CHANNEL_BYTES = 120

/**
 * Adapters use a channel as the name of a queue, topic, stream or file, with suffixes such as
 * `.dlq.quarantine.integration`. So a channel has only characters that all of them allow: letters, digits, `.`, `_`, `-`.
 * It begins and ends with a letter or digit, and contains no `..`, so that it cannot leave its folder.
 */
const CHANNEL_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.))*(?<![._-])$/

const REMEDY = `give a name of 1 to ${MAX_CHANNEL_BYTES} letters, digits, '.', '_' or '-', such as 'orders.eu'; it begins and ends with a letter or digit and has no '..'`

export function isChannelName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_CHANNEL_BYTES && CHANNEL_NAME.test(value)
}

/** The rule for every option that names a channel, so that a wrong name is refused where a person wrote it. */
export const channelRule: Rule<string> = {
  form: { kind: 'text', maxLength: MAX_CHANNEL_BYTES, pattern: CHANNEL_NAME },
  read(value, path, faults) {
    if (!isChannelName(value)) faults.add(path, value, REMEDY)
    return value as string
  },
}

/** The name that was checked last: a process publishes to few channels. */
let checked: string | undefined

/**
 * Throws an EventError for the first event whose channel is not a channel's name. Brokers call it when they publish,
 * because an event may come from elsewhere than `createEvent`.
 */
export function requireChannels(events: readonly { readonly id: string; readonly channel: string }[]): void {
  for (const { id, channel } of events) {
    if (channel === checked) continue
    const faults = new Faults()
    channelRule.read(channel, 'channel', faults)
    if (faults.list.length > 0) throw new EventError(`event ${show(id)}`, faults.list)
    checked = channel
  }
}
