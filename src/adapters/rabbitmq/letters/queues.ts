import { matchesPattern } from '../../../core/options/pattern.ts'
import { RabbitmqUnreachableError } from '../errors.ts'
import { type CollectorSettings, isPattern } from './options.ts'

const REQUEST_TIMEOUT_MS = 10_000
const PAGE = 500

/** The queues to collect from: those named, and those that a pattern finds now. */
export async function findQueues(settings: CollectorSettings): Promise<readonly string[]> {
  const { queues, management } = settings
  const named = queues.filter(queue => !isPattern(queue))
  if (management === undefined || named.length === queues.length) return named
  const patterns = queues.filter(isPattern)
  const there = await listQueues(management, settings.connection.url)
  return [
    ...new Set([
      ...named,
      ...there.filter(queue => patterns.some(pattern => matchesPattern(pattern, queue))),
    ]),
  ]
}

/** AMQP cannot list queues; the management API can, a page at a time. */
async function listQueues(management: string, amqpUrl: string): Promise<readonly string[]> {
  const address = new URL(management)
  const amqp = new URL(amqpUrl)
  const { username, password } = address.username === '' ? amqp : address
  const credentials = `${decodeURIComponent(username) || 'guest'}:${decodeURIComponent(password) || 'guest'}`
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  const vhost = amqp.pathname.length > 1 ? amqp.pathname.slice(1) : '%2F'
  const base = `${address.origin}${address.pathname.replace(/\/+$/, '')}/api/queues/${vhost}`
  const names: string[] = []
  for (let page = 1, pages = 1; page <= pages; page++) {
    const answer = await ask(
      `${base}?columns=name&page=${page}&page_size=${PAGE}`,
      authorization,
      address.host,
    )
    names.push(...answer.items.map(({ name }) => name))
    pages = answer.page_count
  }
  return names
}

interface Page {
  readonly items: readonly { readonly name: string }[]
  readonly page_count: number
}

async function ask(url: string, authorization: string, server: string): Promise<Page> {
  let problem: unknown
  try {
    const response = await fetch(url, {
      headers: { authorization },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    if (response.ok) return (await response.json()) as Page
    problem = new Error(`HTTP ${response.status}`)
  } catch (error) {
    problem = error
  }
  const why = (problem as Error).message
  throw new RabbitmqUnreachableError(`${server} (management)`, `listing the queues failed: ${why}`, problem)
}
