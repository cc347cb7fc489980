import { type Received, type Receiver, type Reply, startReceiver } from './receiver.ts'

type Json = Readonly<Record<string, unknown>>

export interface SlackReceiver extends Receiver {
  /** The whole address of the webhook, path and all. */
  readonly webhook: string
  /** Messages that were taken, in order. */
  readonly messages: readonly { readonly text: string; readonly blocks: readonly Json[] }[]
}

const PATH = '/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX'
const MOST_BLOCKS = 50
const MAX_TEXT = 40_000
const LONGEST_SECTION = 3_000
const LONGEST_FIELD = 2_000
const MOST_FIELDS = 10
const MOST_ELEMENTS = 10

/**
 * An incoming webhook of Slack: its path, its answers and the limits of the blocks. Written from docs.slack.dev (incoming
 * webhooks, blocks, formatting text). Stricter than Slack about what is not escaped, which Slack would guess at.
 */
export async function slackReceiver(): Promise<SlackReceiver> {
  const messages: { text: string; blocks: readonly Json[] }[] = []
  const receiver = await startReceiver(request => {
    const fault = faultOf(request)
    if (fault !== undefined) return fault
    try {
      messages.push(checkedMessage(JSON.parse(request.body.toString('utf8'))))
      return { status: 200, headers: { 'content-type': 'text/html' }, body: 'ok' }
    } catch (error) {
      return { status: 400, body: (error as Error).message }
    }
  })
  return Object.assign(receiver, { messages, webhook: `${receiver.url}${PATH}` })
}

function faultOf({ method, url, headers, body }: Received): Reply | undefined {
  if (method !== 'POST') return { status: 405, body: 'method_not_allowed' }
  if (url !== PATH) return { status: 404, body: 'no_service' }
  if (!/^application\/json\b/.test(headers['content-type'] ?? ''))
    return { status: 400, body: 'invalid_payload' }
  if (headers['content-length'] === undefined) return { status: 411, body: 'invalid_payload' }
  try {
    JSON.parse(body.toString('utf8'))
    return undefined
  } catch {
    return { status: 400, body: 'invalid_payload' }
  }
}

function checkedMessage(message: unknown): { text: string; blocks: readonly Json[] } {
  const { text, blocks = [], ...rest } = object(message, 'invalid_payload')
  if (Object.keys(rest).length > 0) throw new Error(`invalid_payload: ${Object.keys(rest).join()}`)
  if (typeof text !== 'string' || text === '') throw new Error('no_text')
  if (text.length > MAX_TEXT) throw new Error('msg_too_long')
  checkEscaped(text)
  if (!Array.isArray(blocks) || blocks.length > MOST_BLOCKS) throw new Error('invalid_blocks')
  return { text, blocks: blocks.map(checkedBlock) }
}

function checkedBlock(block: unknown): Json {
  const { type, text, fields, elements, ...rest } = object(block, 'invalid_blocks')
  if (Object.keys(rest).length > 0) throw new Error(`invalid_blocks: ${Object.keys(rest).join()}`)
  if (type === 'section') {
    if (text === undefined && fields === undefined) throw new Error('invalid_blocks: an empty section')
    if (text !== undefined) checkText(text, LONGEST_SECTION)
    if (fields !== undefined) for (const field of items(fields, MOST_FIELDS)) checkText(field, LONGEST_FIELD)
  } else if (type === 'context')
    for (const element of items(elements, MOST_ELEMENTS)) checkText(element, 2_000)
  else throw new Error(`invalid_blocks: ${String(type)}`)
  return block as Json
}

function items(list: unknown, most: number): readonly unknown[] {
  if (!Array.isArray(list) || list.length === 0 || list.length > most)
    throw new Error('invalid_blocks: too few or many')
  return list
}

function checkText(value: unknown, longest: number): void {
  const { type, text, ...rest } = object(value, 'invalid_blocks')
  if (type !== 'mrkdwn' || Object.keys(rest).length > 0) throw new Error('invalid_blocks: no text')
  if (typeof text !== 'string' || text === '' || text.length > longest)
    throw new Error(`invalid_blocks: must be less than ${longest + 1} characters`)
  checkEscaped(text)
}

/** Angle brackets hold links alone, and an ampersand begins one of three entities. */
function checkEscaped(text: string): void {
  const rest = text.replace(/<https?:\/\/[^<>|]+\|[^<>|]+>/g, '').replace(/&(?:amp|lt|gt);/g, '')
  if (/[<>&]/.test(rest)) throw new Error(`invalid_payload: not escaped: ${rest}`)
}

function object(value: unknown, fault: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(fault)
  return value as Json
}
