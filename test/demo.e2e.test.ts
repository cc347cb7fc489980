import { readdir, watch } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { DemoState } from '../src/server/schema/demo.ts'
import { type DemoProcess, startDemo } from './support/demo-process.ts'
import { withTempFolder } from './support/folder.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
async function get(url: string): Promise<any> {
  const response = await fetch(url)
  expect(response.status, url).toBe(200)
  return response.json()
}

function press(url: string, action: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', origin: url }
  return fetch(`${url}/api/v1/demo/${action}`, { method: 'POST', headers, body: '{}' })
}

/** Looks at the story whenever the live stream says that something has changed, until it is as it should be. */
async function storyOf(url: string, isThere: (state: DemoState) => boolean): Promise<DemoState> {
  const hangUp = new AbortController()
  const { body } = await fetch(`${url}/api/v1/stream`, { signal: hangUp.signal })
  try {
    for await (const _ of body!) {
      const state: DemoState = await get(`${url}/api/v1/demo`)
      if (isThere(state)) return state
    }
    throw new Error('the stream ended before the story did')
  } finally {
    hangUp.abort()
  }
}

const isDone = (state: DemoState, id: string) => state.steps.some(step => step.id === id && step.done)

let demo: DemoProcess | undefined
let occupant: Server | undefined
afterEach(async () => {
  demo?.interrupt()
  await demo?.ended
  occupant?.close()
  demo = undefined
  occupant = undefined
})

async function occupy(port: number): Promise<number> {
  const server = createServer()
  occupant = server
  await new Promise<void>(resolve => {
    // Taken by someone else already: as good.
    server.once('error', () => resolve())
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : port
}

describe('lazaret demo', () => {
  it('shows everything by itself, and leaves nothing behind when it is interrupted', async () => {
    await withTempFolder(async folder => {
      // A pace that a busy machine can follow. Scenes that need others wait for them.
      demo = startDemo(folder, { args: ['--seed', '3'], pace: 4 })
      const { url, seed, store } = await demo.told
      expect(seed).toBe(3)
      expect(store).toContain(folder)
      expect(await get(`${url}/healthz`)).toMatchObject({ status: 'UP' })
      expect(await get(`${url}/api/v1/me`)).toMatchObject({ demo: true })

      const { steps } = await storyOf(url, state => state.steps.every(({ done }) => done))
      expect(steps.length).toBeGreaterThan(8)

      const overview = await get(`${url}/api/v1/overview`)
      expect(overview).toMatchObject({ breakers: { open: 0, total: 4 }, consumers: { total: 4 } })
      expect(overview.groups.regressed).toBeGreaterThan(0)
      const { groups } = await get(`${url}/api/v1/groups?search=TypeError`)
      expect(groups).toHaveLength(1)
      expect(groups[0].recovered).toBe(groups[0].count)
      expect(groups[0].count).toBeGreaterThan(10)

      const metrics = await (await fetch(`${url}/metrics`)).text()
      for (const series of [
        'breaker_opened_total{name="analytics"} 1',
        'breaker_state{name="ship-order"} 0',
        'tracked_in_job_total{job="StockReport"} 1',
      ])
        expect(metrics).toContain(`lazaret_${series}\n`)

      demo.interrupt()
      const { code, err } = await demo.ended
      expect([code, err.replace(/^(Port|The console).*\n/gm, '')]).toEqual([0, ''])
      expect(await readdir(folder)).toEqual([])
    })
  })

  it('B12: one click ships the fix, another brings the payments back', async () => {
    await withTempFolder(async folder => {
      demo = startDemo(folder, { pace: 5 })
      const { url } = await demo.told
      await storyOf(url, state => isDone(state, 'broken-release'))
      expect((await press(url, 'fix')).status).toBe(200)
      expect((await press(url, 'replay-payments')).status).toBe(200)
      const state = await storyOf(url, each => isDone(each, 'replay-recovers'))
      expect(state.facts).toMatchObject({ release: '2.4.1' })
      // On a slow machine the demo may have started a replay of its own by now.
      const ofTheClick = async () => {
        const { replays } = await get(`${url}/api/v1/replays?limit=10`)
        return replays.find(({ createdBy }: { createdBy: string }) => createdBy === 'local')
      }
      await expect.poll(ofTheClick, { timeout: 60_000 }).toMatchObject({ state: 'finished' })
      expect((await press(url, 'nonsense')).status).toBe(404)
    })
  })

  it('leaves nothing behind when it is interrupted in the midst of starting', async () => {
    await withTempFolder(async folder => {
      const watching = new AbortController()
      const changes = watch(folder, { signal: watching.signal })
      const interrupted = startDemo(folder)
      // The first thing that happens in there is the demo's own folder.
      for await (const _ of changes) break
      watching.abort()
      interrupted.interrupt()
      expect((await interrupted.ended).code).toBe(0)
      expect(await readdir(folder)).toEqual([])
    })
  })

  it('takes the next free port and says so', async () => {
    await withTempFolder(async folder => {
      await occupy(4_600)
      demo = startDemo(folder)
      const { url } = await demo.told
      expect(url).not.toBe('http://127.0.0.1:4600')
      demo.interrupt()
      expect((await demo.ended).err).toContain(
        `Port 4600 is in use; the demo listens on ${new URL(url).port}.`,
      )
    })
  })

  it('says in one line that the port asked for is taken, and leaves nothing behind', async () => {
    await withTempFolder(async folder => {
      const port = await occupy(0)
      const { code, out, err } = await startDemo(folder, { args: ['--port', String(port)] }).ended
      expect([code, out]).toEqual([1, ''])
      expect(err).toBe(`lazaret: server: port ${port} of 127.0.0.1 is in use; use another port\n`)
      expect(await readdir(folder)).toEqual([])
    })
  })

  it('keeps a store that was named, and refuses it the next time because it holds letters', async () => {
    await withTempFolder(async folder => {
      const args = ['--store', 'sqlite:./shop.db']
      demo = startDemo(folder, { args })
      await demo.told
      demo.interrupt()
      expect((await demo.ended).code).toBe(0)
      expect(await readdir(folder)).toEqual(['shop.db'])
      const { code, err } = await startDemo(folder, { args }).ended
      expect(code).toBe(1)
      expect(err).toMatch(
        /^lazaret: the store sqlite:\.\/shop\.db already holds \d+ letters; use a new store, or omit --store\n$/,
      )
    })
  })
})
