import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { HOME, serverWorld } from '../../test/support/server-world.ts'

describe('inside someone’s own app', () => {
  it('F8: mounts under a path of a Hono app', async () => {
    const { server, bury, make } = serverWorld()
    await bury(make.letter())
    const app = new Hono()
    app.get('/own', context => context.text('mine'))
    app.mount('/lazaret', server.fetch)
    expect(await (await app.request(`${HOME}/own`)).text()).toBe('mine')
    const response = await app.request(`${HOME}/lazaret/api/v1/dead-letters`)
    expect(response.status).toBe(200)
    expect(((await response.json()) as { letters: unknown[] }).letters).toHaveLength(1)
  })

  it('F8: is what any route of a Hono app answers with', async () => {
    const { server } = serverWorld()
    const app = new Hono().all('/*', context => server.fetch(context.req.raw))
    expect((await app.request(`${HOME}/healthz`)).status).toBe(200)
  })

  it('F8: answers in a plain node:http server, as in Express and Fastify', async () => {
    const { server, bury, make, store } = serverWorld()
    const [letter] = await bury(make.letter())
    const listener = getRequestListener(server.fetch)
    const http = createHttpServer((request, response) => void listener(request, response))
    await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    try {
      const response = await fetch(`${url}/api/v1/dead-letters/${letter!.id}/discard`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url },
        body: JSON.stringify({ reason: 'a test order' }),
      })
      expect(response.status).toBe(200)
      expect((await store.deadLetters.get(letter!.id))!.state).toBe('discarded')
    } finally {
      http.closeAllConnections()
      await new Promise(resolve => http.close(resolve))
      await server.close()
    }
  })
})
