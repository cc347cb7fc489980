import type { LazaretEvent } from '../../../core/event/event.ts'
import { hash128 } from '../../../core/hash.ts'
import { countLine, cut, headline, type Rendered, render } from '../alerts/rendering.ts'
import type { Mail } from './transport.ts'

const MAX_SUBJECT_LENGTH = 200
const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029]+/gu

interface MailSettings {
  readonly from: string
  readonly to: readonly string[]
  readonly subjectPrefix: string
}

/** The mail about an event. All mails about one alert are one thread, and a mail that is sent again is the same mail. */
export function mailOf(event: LazaretEvent, { from, to, subjectPrefix }: MailSettings): Mail {
  const rendered = render(event)
  const { alert, severity } = rendered
  const domain = from.slice(from.lastIndexOf('@') + 1).replace(/[>\s].*$/, '')
  const root = alert && idOf(`alert-${hash128(`${alert.key} ${alert.since}`)}`, domain)
  const isRoot = root !== undefined && alert?.status === 'firing'
  const line = headline(rendered).replace(CONTROL_CHARACTERS, ' ')
  return {
    from,
    to,
    subject: `${subjectPrefix} ${cut(line, MAX_SUBJECT_LENGTH)}`.trim(),
    text: plainText(rendered),
    html: html(rendered),
    messageId: isRoot ? root : idOf(event.id, domain),
    ...(root !== undefined && !isRoot && { inReplyTo: root, references: root }),
    date: new Date(event.occurredAt),
    priority: severity === 'critical' && alert?.status !== 'resolved' ? 'high' : 'normal',
    // Prevents automatic replies.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  }
}

function idOf(name: string, domain: string): string {
  return `<${name.replace(/[^\w.-]/g, character => `=${character.codePointAt(0)!.toString(16)}`)}@${domain}>`
}

function plainText(rendered: Rendered): string {
  const { summary, facts, lastError, links } = rendered
  const width = Math.max(0, ...facts.map(([name]) => name.length))
  const parts = [
    headline(rendered),
    summary,
    facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n'),
    lastError === undefined ? '' : `Last error:\n${lastError}`,
    links.map(({ text, href }) => `${text}: ${href}`).join('\n'),
    countLine(rendered) ?? '',
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function html(rendered: Rendered): string {
  const { summary, facts, lastError, links } = rendered
  const rows = facts.map(([name, value]) => `<tr><td>${escaped(name)}</td><td>${escaped(value)}</td></tr>`)
  const places = links.map(({ text, href }) => `<a href="${escaped(href)}">${escaped(text)}</a>`)
  const parts = [
    `<h2>${escaped(headline(rendered))}</h2>`,
    summary === '' ? '' : `<p>${escaped(summary)}</p>`,
    rows.length === 0 ? '' : `<table>${rows.join('')}</table>`,
    lastError === undefined ? '' : `<pre>${escaped(lastError)}</pre>`,
    places.length === 0 ? '' : `<p>${places.join(' · ')}</p>`,
    `<p><small>${escaped(countLine(rendered) ?? '')}</small></p>`,
  ]
  return parts.filter(part => part !== '').join('\n')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => ENTITIES[character]!)
}
