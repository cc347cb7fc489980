import { HANDLER_PART, handlerOf } from '../broker/topics/names.ts'
import type { KafkaSettings } from '../options.ts'

/** A handler that was found by the names of its topics. */
export interface FoundHandler {
  readonly channel: string
  readonly handler: string
  readonly group: string
}

type NameTemplates = Pick<KafkaSettings, 'topic' | 'group' | 'retryTopic' | 'deadLetterTopic' | 'heldTopic'>

/** `0s`, `5s`, `1500ms`: the delay in the name of a retry topic. */
const DELAY = String.raw`\d+(?:ms|s|m|h)`

/** The handlers whose topics exist. A topic belongs to the channel with the longest name that fits. */
export function findHandlers(names: readonly string[], templates: NameTemplates): readonly FoundHandler[] {
  const own = [
    pattern(templates.deadLetterTopic, { group: '(.+)' }),
    pattern(templates.retryTopic, { group: '(.+)', delay: DELAY }),
    pattern(templates.heldTopic, { group: '(.+)' }),
  ]
  const groupOf = (name: string) => own.map(each => each.exec(name)?.[1]).find(each => each !== undefined)
  const channelOf = pattern(templates.topic, { channel: '(.+)' })
  const channels = names
    .filter(name => !name.startsWith('__') && groupOf(name) === undefined)
    .flatMap(name => channelOf.exec(name)?.[1] ?? [])
    .sort((a, b) => b.length - a.length)
  const groups = new Set(names.flatMap(name => groupOf(name) ?? []))
  return [...groups].sort().flatMap(group => {
    for (const channel of channels) {
      const names = { channel: escaped(channel), handler: `(${HANDLER_PART})` }
      const part = pattern(templates.group, names).exec(group)?.[1]
      if (part !== undefined) return { channel, handler: handlerOf(part), group }
    }
    return []
  })
}

/** A name with placeholders such as `{channel}` as a pattern. */
function pattern(template: string, parts: Readonly<Record<string, string>>): RegExp {
  const text = template.split(/(\{\w+\})/).map(part => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    return (name === undefined ? undefined : parts[name]) ?? escaped(part)
  })
  return new RegExp(`^${text.join('')}$`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\-]/g, String.raw`\$&`)
}
