import type { LazaretEvent } from '../../../core/event/event.ts'
import { countLine, headline, type Rendered, render } from '../alerts/rendering.ts'

/** Limits of Slack for a section's text, a field of it, and the text that notifications show. */
const MAX_TEXT_LENGTH = 3_000
const MAX_FIELD_LENGTH = 2_000
const MAX_FIELDS = 10
const MAX_FALLBACK_LENGTH = 4_000
/** Much more than anyone reads in a chat. */
const MAX_ERROR_LENGTH = 1_000

interface SlackText {
  readonly type: 'mrkdwn'
  readonly text: string
}

type SlackBlock =
  | { readonly type: 'section'; readonly text: SlackText }
  | { readonly type: 'section'; readonly fields: readonly SlackText[] }
  | { readonly type: 'context'; readonly elements: readonly SlackText[] }

interface SlackMessage {
  /** The text for notifications, and for clients that cannot show blocks. */
  readonly text: string
  readonly blocks: readonly SlackBlock[]
}

/** Sections of text only: buttons would ask for a server that answers them. */
export function slackMessage(event: LazaretEvent): SlackMessage {
  const rendered = render(event)
  const { summary, facts, lastError, links } = rendered
  const title = `${sign(rendered)} *${fitted(headline(rendered), 500)}*`
  const blocks: SlackBlock[] = [section(summary === '' ? title : `${title}\n${fitted(summary, 2_000)}`)]
  const fields = facts
    .slice(0, MAX_FIELDS)
    .map(([name, value]) => mrkdwn(`*${name}*\n${fitted(value, MAX_FIELD_LENGTH - name.length - 3)}`))
  if (fields.length > 0) blocks.push({ type: 'section', fields })
  if (lastError !== undefined)
    blocks.push(section(`\`\`\`${fitted(lastError.replaceAll('`', 'ʼ'), MAX_ERROR_LENGTH)}\`\`\``))
  const places = linkLine(links)
  if (places !== '') blocks.push(section(places))
  const counts = countLine(rendered)
  if (counts !== undefined) blocks.push({ type: 'context', elements: [mrkdwn(fitted(counts, 500))] })
  const fallback = [headline(rendered), summary].filter(part => part !== '').join('. ')
  return { text: fitted(fallback, MAX_FALLBACK_LENGTH), blocks }
}

function sign({ alert, severity }: Rendered): string {
  if (alert?.status === 'resolved') return ':white_check_mark:'
  if (severity === 'critical') return ':rotating_light:'
  if (severity === 'error') return ':red_circle:'
  return severity === 'warning' ? ':warning:' : ':information_source:'
}

/** As many links as fit. A cut link would lead nowhere. */
function linkLine(links: readonly { readonly text: string; readonly href: string }[]): string {
  let line = ''
  for (const { text, href } of links) {
    const link = `<${escaped(href).replaceAll('|', '%7C')}|${fitted(text, 100)}>`
    if (line.length + link.length + 3 <= MAX_TEXT_LENGTH) line += line === '' ? link : ` · ${link}`
  }
  return line
}

function section(text: string): SlackBlock {
  return { type: 'section', text: mrkdwn(text) }
}

function mrkdwn(text: string): SlackText {
  return { type: 'mrkdwn', text }
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Escapes the three special characters of Slack, so that a text can mention nobody and contain no link. */
function escaped(text: string): string {
  return text.replace(/[&<>]/g, character => ENTITIES[character]!)
}

/** Escaped, and within the limit without an entity being cut in two. */
function fitted(text: string, longest: number): string {
  const whole = escaped(text)
  if (whole.length <= longest) return whole
  let kept = ''
  for (const character of text) {
    const next = ENTITIES[character] ?? character
    if (kept.length + next.length > longest - 1) break
    kept += next
  }
  return `${kept}…`
}
