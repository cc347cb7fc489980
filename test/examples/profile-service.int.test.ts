import { randomUUID } from 'node:crypto'
import { Pool } from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { createEvent, RETRY_LIMIT_PRESETS } from '../../src/index.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { findPostgres } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { RabbitmqAdmin } from '../support/rabbitmq.ts'
import { envOf, ProfileProcess, runExample } from './profile-service.ts'

const foundRabbitmq = await findRabbitmq()
const foundPostgres = await findPostgres()
const missing = [foundRabbitmq, foundPostgres].flatMap(found => (found.found ? [] : [found.why]))
const isThere = missing.length === 0
const rabbit = isThere && foundRabbitmq.found ? await foundRabbitmq.start() : undefined
const postgres = isThere && foundPostgres.found ? await foundPostgres.start() : undefined
const outside = rabbit && (await RabbitmqAdmin.at(rabbit.url))
const pool = new Pool({ connectionString: postgres?.url })
const timing = new TestTiming({})

const running = new Set<ProfileProcess>()
afterEach(() => {
  for (const service of running) service.signal('SIGKILL')
  running.clear()
})
afterAll(async () => {
  await pool.end()
  await outside?.close()
  await rabbit?.close()
  await postgres?.close()
})

async function start(channel = uniqueName('users'), more: NodeJS.ProcessEnv = {}) {
  const settings = { amqp: rabbit!.url, database: postgres!.url, channel, more }
  const service = await ProfileProcess.start(settings)
  running.add(service)
  return { service, channel, settings }
}

/** As a program sends that knows nothing of Lazaret. */
function send(channel: string, type: string, payload: unknown, properties: object = {}): Promise<void> {
  const content = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))
  const said = { messageId: randomUUID(), contentType: 'application/json', persistent: true, ...properties }
  return outside!.publish(channel, type, content, said)
}

function user(userId: string, version = 1, displayName = 'Ann') {
  return { userId, email: 'ann@example.com', displayName, version }
}

async function rowOf(userId: string): Promise<unknown> {
  const { rows } = await pool.query('select display_name, version::int from profiles where user_id = $1', [
    userId,
  ])
  return rows[0]
}

const hasRow = (userId: string, version: number) =>
  timing.eventually(
    async () => ((await rowOf(userId)) as { version?: number } | undefined)?.version === version,
    `version ${version} of ${userId}`,
  )

const processed = async (service: ProfileProcess, outcome: string) =>
  Number(
    new RegExp(`processed_total\\{.*outcome="${outcome}"\\} (\\d+)`).exec(await service.metrics())?.[1] ?? 0,
  )

describe.runIf(isThere)(
  `examples/profile-service${isThere ? '' : ` (skipped: ${missing.join('; ')})`}`,
  () => {
    it('F1: registered, updated and deleted become rows for every sender; then the service exits with 0', async () => {
      const { service, channel } = await start()
      const [ann, bob] = [randomUUID(), randomUUID()]
      await send(channel, 'user.registered', user(ann))
      await hasRow(ann, 1)
      await send(channel, 'user.updated', user(ann, 2, 'Ann B.'))
      await hasRow(ann, 2)
      expect(await rowOf(ann)).toEqual({ display_name: 'Ann B.', version: 2 })
      const broker = rabbitmq({ url: rabbit!.url })
      await broker.publish([createEvent({ channel, type: 'user.updated', payload: user(bob, 3) })])
      await broker.close()
      await hasRow(bob, 3)
      await send(channel, 'user.deleted', { userId: ann })
      await timing.eventually(async () => (await rowOf(ann)) === undefined, 'the row is deleted')
      expect((await service.health()).report).toMatchObject({ status: 'UP', dlqSize: 0 })
      expect(await service.stop()).toBe(0)
    })

    it('F2, F3: a permanent failure is in the dead-letter queue at once, with its headers', async () => {
      const { service, channel } = await start()
      const good = randomUUID()
      await send(channel, 'user.registered', { userId: 'nobody' })
      await send(channel, 'user.promoted', user(randomUUID()))
      await send(channel, 'user.registered', '{"userId": ')
      await send(channel, 'user.registered', user(good))
      await hasRow(good, 1)
      await timing.eventually(
        async () => (await outside!.depth(`${channel}.dlq`)) === 3,
        'three dead letters',
      )
      const headers = (await outside!.peek(`${channel}.dlq`)).map(({ properties }) => properties.headers)
      const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
      const common = {
        'lazaret-category': 'schema',
        'lazaret-first-failed-at': time,
        'lazaret-last-failed-at': time,
        'lazaret-fingerprint': expect.any(String),
      }
      expect(headers).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            ...common,
            'lazaret-reason': 'permanent',
            'lazaret-attempts': 1,
            'lazaret-error': expect.stringContaining('ZodError'),
          }),
          expect.objectContaining({
            ...common,
            'lazaret-reason': 'permanent',
            'lazaret-error': 'PermanentError: no such type of event here: user.promoted',
          }),
          expect.objectContaining({ ...common, 'lazaret-reason': 'undecodable', 'lazaret-attempts': 0 }),
        ]),
      )
      const health = async () => (await service.health()).report
      await timing.eventually(async () => (await health()).dlqSize === 3, 'health counts them')
      expect(await health()).toMatchObject({ status: 'UP', breakerState: 'CLOSED' })
      expect(await service.metrics()).toContain(
        `lazaret_dlq_saved_total{channel="${channel}",reason="permanent"} 2`,
      )
    })

    it('S8: duplicates change nothing, even late ones', async () => {
      const { service, channel } = await start()
      const [ann, bob] = [randomUUID(), randomUUID()]
      await send(channel, 'user.updated', user(ann, 3, 'newest'))
      await send(channel, 'user.registered', user(bob))
      await hasRow(bob, 1)
      await send(channel, 'user.deleted', { userId: bob })
      await timing.eventually(async () => (await rowOf(bob)) === undefined, 'bob is deleted')
      for (let copies = 0; copies < 2; copies++) {
        await send(channel, 'user.updated', user(ann, 3, 'newest'))
        await send(channel, 'user.updated', user(ann, 2, 'older'))
        await send(channel, 'user.registered', user(ann, 1, 'oldest'))
        await send(channel, 'user.deleted', { userId: bob })
        await send(channel, 'user.registered', user(bob))
        await send(channel, 'user.updated', user(bob, 2))
      }
      await timing.eventually(async () => (await processed(service, 'done')) === 15, 'all are handled')
      expect(await rowOf(ann)).toEqual({ display_name: 'newest', version: 3 })
      expect(await rowOf(bob)).toBeUndefined()
    })

    it('S8: concurrent events of a user are applied in order', async () => {
      const { service, channel } = await start()
      const users = Array.from({ length: 60 }, () => randomUUID())
      const broker = rabbitmq({ url: rabbit!.url })
      await broker.publish(
        users.flatMap(userId => [
          createEvent({ channel, type: 'user.registered', payload: user(userId) }),
          createEvent({ channel, type: 'user.updated', payload: user(userId, 2) }),
          createEvent({ channel, type: 'user.deleted', payload: { userId } }),
        ]),
      )
      await broker.close()
      await timing.eventually(async () => (await processed(service, 'done')) === 180, 'all are handled')
      const left = await pool.query('select from profiles where user_id = any($1)', [users])
      expect(left.rowCount).toBe(0)
    })

    it('F6: with more than 100 dead letters it is degraded', async () => {
      const { service, channel } = await start()
      const broker = rabbitmq({ url: rabbit!.url })
      const bad = Array.from({ length: 101 }, () =>
        createEvent({ channel, type: 'user.registered', payload: {} }),
      )
      await broker.publish(bad.slice(1))
      await timing.eventually(async () => (await service.health()).report.dlqSize === 100, '100 letters')
      expect(await service.health()).toMatchObject({ code: 200, report: { status: 'UP', failureRate: 1 } })
      await broker.publish(bad.slice(0, 1))
      await timing.eventually(async () => (await service.health()).report.dlqSize === 101, '101 letters')
      expect(await service.health()).toMatchObject({
        code: 503,
        report: { status: 'DEGRADED', breakerState: 'CLOSED', channels: [{ channel, paused: [] }] },
      })
      await broker.close()
    })

    it('F1: SIGTERM finishes the running events, returns the others and exits with 0', async () => {
      const { service, channel } = await start()
      const users = Array.from({ length: 40 }, () => randomUUID())
      const written = async () =>
        Number(
          (await pool.query('select count(*) from profiles where user_id = any($1)', [users])).rows[0].count,
        )
      const lock = await pool.connect()
      await lock.query('begin; lock table profiles')
      const broker = rabbitmq({ url: rabbit!.url })
      await broker.publish(
        users.map(userId => createEvent({ channel, type: 'user.registered', payload: user(userId) })),
      )
      await timing.eventually(
        async () => (await service.health()).report.channels[0]?.active === 10,
        'ten are being handled',
      )
      service.signal('SIGTERM')
      await timing.eventually(() => service.said('stopping').length > 0, 'it is stopping')
      await lock.query('commit')
      lock.release()
      expect(await service.ended()).toBe(0)
      expect(service.said('attempt failed')).toEqual([])
      const done = await written()
      expect(done).toBeGreaterThanOrEqual(10)
      expect((await outside!.depth(channel)) + done).toBe(40)
      const next = await start(channel)
      await timing.eventually(async () => (await written()) === 40, 'the next one handles the rest')
      expect(await next.service.stop()).toBe(0)
      await broker.close()
    })

    it('F7: the service reports all faults of its config at once and exits with 1', async () => {
      const env = { RABBITMQ_URL: 'http://secret', HTTP_PORT: 'eighty', RETRY_BASE_MS: '-1' }
      const { code, err } = await runExample('main.ts', [], env)
      expect(code).toBe(1)
      expect(
        err
          .trimEnd()
          .split('\n')
          .map(line => line.replace(/^profile-service: /, '')),
      ).toEqual([
        expect.stringMatching(
          /yaml:12: policies\.defaults\.consumer\.retry\.backoff\.baseMs: got a hidden value/,
        ),
        expect.stringMatching(/yaml:16: policies\..*\.transient\.backoff\.baseMs: got a hidden value/),
        expect.stringMatching(
          /yaml:26: service\.rabbitmq\.url: .*; give a URL such as amqp:\/\/user:password@host:5672$/,
        ),
        expect.stringMatching(/yaml:33: service\.http\.port: /),
      ])
      expect(err).not.toContain('secret')
    })

    it.each(['production', 'staging', 'development'] as const)(
      'R1 E4: the same service starts with the preset %s of its file, and handles events',
      async preset => {
        const { service, channel } = await start(uniqueName('users'), { PRESET: preset })
        expect(service.said('started')).toMatchObject([{ retryLimit: RETRY_LIMIT_PRESETS[preset] }])
        const ann = randomUUID()
        await send(channel, 'user.registered', user(ann))
        await hasRow(ann, 1)
        expect(await service.stop()).toBe(0)
      },
    )

    it('F1: its sample events are handled', async () => {
      const { service, channel, settings } = await start()
      const { code, out } = await runExample('send.ts', ['6', 'bad'], envOf(settings))
      expect([code, out]).toEqual([0, `15 events sent to ${channel}\n`])
      await timing.eventually(
        async () => (await processed(service, 'done')) === 14,
        'the good ones are handled',
      )
      await timing.eventually(async () => (await processed(service, 'dead')) === 1, 'the bad one is dead')
    })
  },
)
