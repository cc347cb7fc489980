import type { InputFault, Problem } from '../../../src/server/schema/problem.ts'
import { BASE_PATH } from '../lib/base-path.ts'
import { after } from '../lib/browser-clock.ts'
import { identityHeaders } from './identity.ts'
import { heard, onSilence } from './silence.ts'

export const API = `${BASE_PATH}/api/v1`

/** What the server says is wrong, or that it does not answer (status 0). */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem'
  readonly status: number
  readonly title: string
  readonly faults: readonly InputFault[]

  constructor(
    problem: Pick<Problem, 'status' | 'title' | 'detail'> & { faults?: readonly InputFault[] | undefined },
  ) {
    super(problem.detail)
    this.status = problem.status
    this.title = problem.title
    this.faults = problem.faults ?? []
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const url = path + searchOf(query)
  const early = asked.get(url) as Promise<T> | undefined
  asked.delete(url)
  return early ?? call<T>('GET', url, undefined, signal)
}

const asked = new Map<string, Promise<unknown>>()
/** An answer that nobody has taken by then may not be true any more. */
const EARLY_FOR_MS = 5_000

/**
 * Sends the request before the screen that needs the answer renders. The first reader takes the answer, and the next
 * sends a new request.
 */
export function prefetch(path: string, query: Query = {}): void {
  const url = path + searchOf(query)
  const answer = call('GET', url)
  asked.set(url, answer)
  const forget = () => void asked.delete(url)
  answer.catch(forget)
  after(EARLY_FOR_MS, forget)
}

/** Sends a request that is answered as JSON lines, and passes each line on as it comes. An abort closes the connection. */
export async function sendForLines<T>(
  path: string,
  body: object,
  onLine: (line: T) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await answer('POST', path, body, signal, 'application/x-ndjson')
  if (!response.ok) throw await problemOf(response)
  const decoder = new TextDecoder()
  let rest = ''
  const reader = response.body!.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + decoder.decode(part.value, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) onLine(JSON.parse(line) as T)
  }
}

export function send<T>(method: 'POST' | 'PATCH', path: string, body: object): Promise<T> {
  return call<T>(method, path, body)
}

function searchOf(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

async function call<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
  const response = await answer(method, path, body, signal)
  if (!response.ok) throw await problemOf(response)
  return (await response.json()) as T
}

async function answer(
  method: string,
  path: string,
  body: object | undefined,
  signal: AbortSignal | undefined,
  accept = 'application/json',
) {
  // A change may have been made although no answer came, so only reading is given up.
  const silent = new AbortController()
  const stopWatch = method === 'GET' ? onSilence(() => silent.abort()) : () => {}
  try {
    const response = await fetch(API + path, {
      method,
      headers: {
        accept,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...identityHeaders(),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal === undefined ? silent.signal : AbortSignal.any([signal, silent.signal]),
    })
    heard()
    return response
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiProblem({
      status: 0,
      title: 'Server unreachable',
      detail:
        'Check that the server is running and reachable from this machine. The console reconnects automatically.',
    })
  } finally {
    stopWatch()
  }
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const told = (await response.json().catch(() => undefined)) as Partial<Problem> | undefined
  return new ApiProblem({
    status: response.status,
    title: told?.title ?? `The server answered ${response.status}`,
    detail: told?.detail ?? 'The server gave no reason. Check its log.',
    faults: told?.faults,
  })
}
