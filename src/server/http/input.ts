import type * as z from 'zod'
import { changesNumbers } from '../../core/event/exact-numbers.ts'
import { show } from '../../core/options/show.ts'
import { ProblemError } from '../problem.ts'
import type { InputFault } from '../schema/problem.ts'

const MAX_BODY_BYTES = 1_000_000
const MAX_DEPTH = 64
const MAX_FAULTS = 20

export function searchOf(url: URL): Readonly<Record<string, string>> {
  const names = [...url.searchParams.keys()]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new ProblemError(
      'invalid-request',
      `The query parameter ${JSON.stringify(twice.slice(0, 100))} appears more than once. Send it once.`,
    )
  return Object.fromEntries(url.searchParams)
}

/** Parses a value with a schema. Throws one problem with all faults. */
export function checked<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const faults = result.error.issues.slice(0, MAX_FAULTS).map((issue): InputFault => {
    const { path } = issue
    const steps = [where, ...path.map(String)]
    return {
      path: steps.join('.').slice(0, 500),
      received: show(valueAt(value, path)),
      remedy: remedyOf(issue),
    }
  })
  throw new ProblemError('invalid-request', 'Fix the fields listed in faults.', { faults })
}

/** Says what to give, in the words of the option rules. The message of Zod says what it expected. */
function remedyOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_value' || issue.values.length < 2) return issue.message
  return `give one of ${issue.values.map(value => `'${String(value)}'`).join(', ')}`
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let inner = value
  for (const step of path) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, step)) return undefined
    inner = (inner as Record<PropertyKey, unknown>)[step]
  }
  return inner
}

/** Reads a JSON body within the limits of size and depth. */
export async function jsonOf(request: Request): Promise<unknown> {
  const [type] = (request.headers.get('content-type') ?? '').split(';')
  if (type?.trim().toLowerCase() !== 'application/json') {
    await request.body?.cancel()
    throw new ProblemError('wrong-media-type', 'Send JSON with the header content-type: application/json.')
  }
  const text = await textOf(request)
  const value = parse(text)
  if (isDeeper(value, MAX_DEPTH))
    throw new ProblemError(
      'invalid-request',
      `The request body is nested more than ${MAX_DEPTH} levels deep. Flatten it.`,
    )
  return value
}

async function textOf(request: Request): Promise<string> {
  const tooLarge = () =>
    new ProblemError(
      'too-large',
      `The request body is larger than ${MAX_BODY_BYTES} bytes. Send less in one request.`,
      {
        // The rest of the body stays unread, so the connection cannot be reused.
        headers: { connection: 'close' },
      },
    )
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  if (request.body === null) return ''
  const parts: Uint8Array[] = []
  let size = 0
  try {
    // Node's ReadableStream can be iterated; the DOM's type of it does not say so.
    for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += part.byteLength
      if (size > MAX_BODY_BYTES) throw tooLarge()
      parts.push(part)
    }
  } catch (error) {
    if (error instanceof ProblemError) throw error
    // The client has closed the connection.
    throw new ProblemError('invalid-request', 'The request body ended before it was complete. Send it again.')
  }
  return Buffer.concat(parts).toString('utf8')
}

function parse(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ProblemError('invalid-request', 'The request body is not valid JSON. Send a JSON object.')
  }
  // A patch would write another number than its author did.
  if (!changesNumbers(text)) return value
  const remedy = 'The request body has a number with more digits than a JSON number keeps. Send it as a text.'
  throw new ProblemError('invalid-request', remedy)
}

/** Works without recursion, because the value may be a million levels deep. */
function isDeeper(value: unknown, most: number): boolean {
  let level = [value]
  for (let depth = 0; depth <= most; depth++) {
    level = level.flatMap(each => (typeof each === 'object' && each !== null ? Object.values(each) : []))
    if (level.length === 0) return false
  }
  return true
}
