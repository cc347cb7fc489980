import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import type { PostgresSettings } from '../options.ts'
import { NOTIFY_CHANNEL } from '../schema/functions.ts'
import type { PgClient, PgPool, PgResult } from './client.ts'
import { ListenConnection } from './listen-connection.ts'

const LISTEN = `listen ${NOTIFY_CHANNEL}`

/** A client that refuses a second query while one runs, as node-postgres 9 will. */
class StrictClient extends EventEmitter implements PgClient {
  readonly texts: string[] = []
  isReleased = false
  #running: { answer(): void; fail(error: Error): void } | undefined

  query(text: string): Promise<PgResult> {
    if (this.#running !== undefined) throw new Error('the client is already executing a query')
    this.texts.push(text)
    return new Promise((resolve, reject) => {
      const settle = (end: () => void) => {
        this.#running = undefined
        end()
      }
      this.#running = {
        answer: () => settle(() => resolve({ rows: [], rowCount: 0 })),
        fail: error => settle(() => reject(error)),
      }
    })
  }

  /** Answers the running query. */
  answer(): void {
    this.#running?.answer()
  }

  release(): void {
    this.isReleased = true
    this.#running?.fail(new Error('the connection was closed'))
  }
}

async function openOn(...clients: StrictClient[]): Promise<ListenConnection> {
  const [first] = clients
  const pool: PgPool = {
    connect: async () => clients.shift()!,
    query: async () => ({ rows: ['by the pool'], rowCount: 1 }),
  }
  const connection = new ListenConnection({ pool, listen: true } as PostgresSettings)
  const started = connection.start(NOTIFY_CHANNEL, () => {})
  await yieldToEventLoop()
  first!.answer()
  await started
  return connection
}

it('E21: one query at a time runs on the connection, also when LISTEN meets a renewal of the lease', async () => {
  const client = new StrictClient()
  const connection = await openOn(client)
  const renewed = connection.query('renew')
  const listening = connection.start(NOTIFY_CHANNEL, () => {})
  await yieldToEventLoop()
  expect(client.texts).toEqual([LISTEN, 'renew'])
  client.answer()
  await renewed
  await yieldToEventLoop()
  client.answer()
  await listening
  expect(client.texts).toEqual([LISTEN, 'renew', LISTEN])
})

it('E21: a connection that has not answered the query before is closed, and the pool runs the next', async () => {
  const client = new StrictClient()
  const connection = await openOn(client)
  const unanswered = connection.query('renew').catch(error => error)
  expect(await connection.query('renew again')).toMatchObject({ rows: ['by the pool'] })
  expect(await unanswered).toBeInstanceOf(Error)
  expect(client.isReleased).toBe(true)
})

it('E21: a renewal that waits for a LISTEN without an answer fails when the connection is closed', async () => {
  const client = new StrictClient()
  const connection = await openOn(client)
  const listening = connection.start(NOTIFY_CHANNEL, () => {}).catch(error => error)
  await yieldToEventLoop()
  const waiting = connection.query('renew').catch(error => error)
  expect(await connection.query('renew again')).toMatchObject({ rows: ['by the pool'] })
  expect(await listening).toBeInstanceOf(Error)
  expect(await waiting).toBeInstanceOf(Error)
  expect(client.texts).toEqual([LISTEN, LISTEN])
})
