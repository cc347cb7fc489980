import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { Store } from '../../src/ports/store.ts'
import type { TokenOptions } from '../../src/server/auth/authenticator.ts'
import { createServer, type LazaretServer, type ServerOptions } from '../../src/server/index.ts'
import { ROUTES } from '../../src/server/routes/index.ts'
import { problem } from '../../src/server/schema/problem.ts'
import type { Factory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { factoryOf } from './memory-letters.ts'

export const HOME = 'http://127.0.0.1:4600'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  readonly body: any
}

export interface Question {
  readonly method?: string
  /** Sent as JSON, as the console would. */
  readonly json?: unknown
  readonly body?: string | ReadableStream<Uint8Array>
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string
  /** The address of the connection. */
  readonly from?: string
  /** The headers as they arrived, names and values in turn. */
  readonly rawHeaders?: readonly string[]
}

export interface ServerWorld {
  readonly clock: FakeClock
  readonly store: Store
  readonly make: Factory
  readonly server: LazaretServer
  readonly errors: readonly unknown[]
  ask(path: string, question?: Question): Promise<Answer>
  /** Asks for a change, as the console does. */
  tell(path: string, json: unknown, question?: Question): Promise<Answer>
  /** Sends letters, a second apart, the last one newest. */
  bury(...letters: readonly DeadLetter[]): Promise<readonly DeadLetter[]>
  audited(): Promise<readonly string[]>
}

/** A server in process, on a memory store, at a time that stands still. Every answer is held against its schema. */
export function serverWorld(options: Partial<ServerOptions> = {}): ServerWorld {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const errors: unknown[] = []
  const server = createServer({
    stores: store,
    consoleDir: 'none',
    clock,
    random: seededRandom(3),
    onError: error => errors.push(error),
    // Tests let days pass in a moment, and would spend them on its rounds.
    watch: 'off',
    ...options,
  })
  const ask = (path: string, question: Question = {}) => askServer(server, path, question)
  return {
    clock,
    store,
    make: factoryOf(clock),
    server,
    errors,
    ask,
    tell: (path, json, question = {}) => ask(path, { method: 'POST', ...question, json }),
    async bury(...letters) {
      for (const letter of letters) {
        await clock.advance(1_000)
        const at = clock.now()
        const cycle = { ...letter.cycle, firstFailedAt: at, lastFailedAt: at }
        await store.deadLetters.send({ ...letter, cycle })
      }
      return (await store.deadLetters.list({ limit: 1_000 })).letters
    },
    async audited() {
      const { entries } = await store.audit.list({ limit: 100 })
      return entries.map(({ action, target, by }) => `${by} ${action} ${target}`)
    },
  }
}

export async function askServer(
  server: Pick<LazaretServer, 'fetch'>,
  path: string,
  { method = 'GET', json, body, headers = {}, token, from, rawHeaders }: Question = {},
): Promise<Answer> {
  const request = new Request(`${HOME}${path}`, {
    method,
    headers: {
      host: '127.0.0.1:4600',
      ...(method === 'GET' || method === 'HEAD' ? {} : { origin: HOME }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: json === undefined ? (body ?? null) : JSON.stringify(json),
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  } as RequestInit)
  const connection =
    from === undefined ? undefined : { incoming: { socket: { remoteAddress: from }, rawHeaders } }
  const response = await server.fetch(request, connection)
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const text = isStream ? '' : await response.text()
  const answer = { status: response.status, headers: response.headers, text, body: parsed(text) }
  if (!isStream && text !== '') holdAgainstSchema(method, path, answer)
  return answer
}

function holdAgainstSchema(method: string, path: string, { status, body, headers, text }: Answer): void {
  if (headers.get('content-type') === 'application/problem+json') {
    expect(problem.parse(body).status, text).toBe(status)
    expect(body.detail, 'says what to do').toMatch(/\w{3,}/)
    return
  }
  const [bare = ''] = path.split('?')
  const route = ROUTES.find(
    each => each.method === method && new RegExp(`^${each.path.replace(/:\w+/g, '[^/]+')}$`).test(bare),
  )
  const answered = route?.media === 'text/plain' ? text : body
  if (route !== undefined)
    expect(route.answer.safeParse(answered).error?.issues, `${method} ${path}`).toBeUndefined()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function tokenOf(name: string, role: TokenOptions['role']): TokenOptions {
  return { name, role, sha256: createHash('sha256').update(secretOf(name)).digest('hex') }
}

export function secretOf(name: string): string {
  return `secret-of-${name}`
}

export const PEOPLE = [tokenOf('vic', 'viewer'), tokenOf('ola', 'operator'), tokenOf('ada', 'admin')]

/** Everything a store holds, to see that nothing has changed. */
export async function dumpStore(store: Store) {
  const { letters } = await store.deadLetters.list({ limit: 1_000 })
  const { groups } = await store.groups.list({ limit: 1_000 })
  const replays = await store.replays.list({ limit: 1_000 })
  const items = await Promise.all(replays.map(({ id }) => store.replays.items(id)))
  const { entries } = await store.audit.list({ limit: 1_000 })
  return { letters, groups, replays, items, entries }
}
