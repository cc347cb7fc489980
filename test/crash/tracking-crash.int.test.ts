import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { withTempFolder } from '../support/folder.ts'
import { idsAfter, killAfter, outputOf, start } from './child.ts'

const SERVICE = fileURLToPath(new URL('./tracking-process.ts', import.meta.url))
/** Nobody listens on the discard port of this machine. */
const DEAD = 'http://127.0.0.1:9/'
const KILLS = 2
const MAX_LINES = 60

/** A receiver that counts how often each event arrives. It can be told to accept events without an answer. */
async function withReceiver(
  answers: boolean,
  use: (url: string, times: ReadonlyMap<string, number>) => Promise<void>,
): Promise<void> {
  const times = new Map<string, number>()
  const server = createServer(async (request, response) => {
    if (!answers) return
    let body = ''
    for await (const piece of request) body += piece
    for (const id of JSON.parse(body) as string[]) times.set(id, (times.get(id) ?? 0) + 1)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, times)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const linesOf = (output: string) => output.split('\n').slice(0, -1)

describe.each(['file', 'sqlite'])('a service with a %s journal', kind => {
  it('E21: after a kill while the sink hangs, the next process sends the tracked events', async () => {
    await withTempFolder(async folder => {
      const random = seededRandom(7)
      const tracked: string[] = []
      await withReceiver(false, async url => {
        for (let kill = 0; kill < KILLS; kill++) {
          const child = start(SERVICE, kind, folder, url, 'untilKilled')
          const output = await killAfter(child, 1 + Math.floor(random() * MAX_LINES))
          tracked.push(...idsAfter('tracked', linesOf(output)))
        }
      })
      expect(tracked.length).toBeGreaterThan(KILLS)
      await withReceiver(true, async (url, times) => {
        await outputOf(start(SERVICE, kind, folder, url, 'drain'))
        expect(tracked.filter(id => !times.has(id))).toEqual([])
      })
    })
  })

  it('E21: closed while the sink is dead, leaves ordinary events too, and the next process sends each once', async () => {
    await withTempFolder(async folder => {
      const said = linesOf(await outputOf(start(SERVICE, kind, folder, DEAD, 'thenClose')))
      expect(said.at(-1)).toBe('closed')
      const tracked = idsAfter('tracked', said)
      expect(tracked).toHaveLength(50)
      await withReceiver(true, async (url, times) => {
        await outputOf(start(SERVICE, kind, folder, url, 'drain'))
        expect([...times].sort()).toEqual(tracked.map(id => [id, 1]).sort())
        await outputOf(start(SERVICE, kind, folder, url, 'drain'))
        expect(times.size).toBe(50)
      })
      // The store makes its folder for the first letter.
      expect(existsSync(join(folder, 'dead-letters'))).toBe(false)
    })
  })
})
