import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express, { type NextFunction, type Request, type Response } from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { JobWorld } from '../../../test/support/job-world.ts'
import { asJob } from '../../runtime/dispatcher/track/tracking-mode.ts'
import { expressRequests, fastifyRequests, honoRequests } from './index.ts'

interface Served {
  readonly url: string
  close(): Promise<unknown>
}

/** Serves POST /orders, which reads its body and tracks; a failure is answered by the framework's own error handler. */
type Serve = (world: JobWorld, withScope: boolean) => Promise<Served>

const inExpress: Serve = async (world, withScope) => {
  const app = express()
  if (withScope) app.use(expressRequests())
  app.use(express.json())
  app.post('/orders', async (request, response) => {
    response.send(await world.work((request.body as { to: string }).to))
  })
  app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
    response.status(500).send(error.name)
  })
  return served(app.listen(0, '127.0.0.1'))
}

const inFastify: Serve = async (world, withScope) => {
  const app = Fastify()
  if (withScope) await app.register(fastifyRequests())
  app.post('/orders', async ({ body }) => world.work((body as { to: string }).to))
  app.setErrorHandler((error: Error, _request, reply) => reply.status(500).send(error.name))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, close: () => app.close() }
}

const inHono: Serve = async (world, withScope) => {
  const app = new Hono()
  if (withScope) app.use(honoRequests())
  app.post('/orders', async c => c.text(await world.work((await c.req.json<{ to: string }>()).to)))
  app.onError((error, c) => c.text(error.name, 500))
  return served(createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1'))
}

async function served(server: Server): Promise<Served> {
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise(resolve => server.close(resolve)),
  }
}

async function order(serve: Serve, withScope: boolean, inJob: boolean) {
  const world = new JobWorld()
  const start = () => serve(world, withScope)
  // Work that a job starts runs in the job's context, also when a request uses it later.
  const { url, close } = await (inJob ? asJob('Boot', start) : start())
  try {
    const response = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ to: 'ada' }),
    })
    const letters = (await world.letters()).map(({ job, reason }) => ({ job, reason }))
    return { status: response.status, body: await response.text(), letters }
  } finally {
    await close()
    await world.close()
  }
}

const thrown = {
  status: 500,
  body: 'TrackingError',
  letters: [{ job: undefined, reason: 'attempts_exhausted' }],
}

describe.each([
  ['Express', inExpress],
  ['Fastify', inFastify],
  ['Hono', inHono],
] as const)('requests of %s', (_, serve) => {
  it('E7: a failure to track is thrown, and becomes the error of the framework', async () => {
    expect(await order(serve, true, false)).toEqual(thrown)
  })

  it('E7: also in a server that a job has started, where it would be swallowed otherwise', async () => {
    expect(await order(serve, true, true)).toEqual(thrown)
    expect(await order(serve, false, true)).toMatchObject({
      status: 200,
      letters: [{ job: 'Boot', reason: 'tracking_failed_in_job' }],
    })
  })
})
