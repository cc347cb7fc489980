import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import { systemClock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { createServer, type ServerOptions } from './index.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

async function listening(options: Partial<ServerOptions> = {}, host?: string) {
  const store = memoryStore({})
  const server = createServer({ stores: store, consoleDir: 'none', ...options })
  const at = await server.listen({ port: 0, host })
  open.push(server)
  return { ...at, server, store }
}

/** What a socket says until it ends. */
function raw(port: number, text: string): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let said = ''
    socket.on('data', bytes => {
      said += String(bytes)
    })
    // Who is refused in the midst of speaking may see the connection reset after the answer.
    socket.on('error', () => {})
    socket.on('close', () => resolve(said))
  })
}

describe('a server on a real socket', () => {
  it('F8: answers, streams, and ends both when it closes', async () => {
    const { url, close, store } = await listening()
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const stream = await fetch(`${url}/api/v1/stream`)
    const reader = stream.body!.getReader()
    const decoder = new TextDecoder()
    let told = ''
    while (!told.includes('event: overview')) told += decoder.decode((await reader.read()).value)
    await close()
    while (!(await reader.read()).done);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
    expect((await store.deadLetters.stats()).count, 'the store is still its owner’s').toBe(0)
  })

  it('F8: who waits for an answer while it closes gets it', async () => {
    const store = memoryStore({})
    let answer = () => {}
    const asked = new Promise<void>(resolve => {
      store.deadLetters.list = () => {
        resolve()
        return new Promise(done => {
          answer = () => done({ letters: [], cursor: undefined })
        })
      }
    })
    const { url, close } = await listening({ stores: store as Store })
    const waiting = fetch(`${url}/api/v1/dead-letters`)
    await asked
    const closed = close()
    answer()
    expect((await waiting).status).toBe(200)
    await closed
  })

  it('F8: the name it was given is its own, and with tokens it listens for others', async () => {
    const { port } = await listening({ tokens: PEOPLE }, '0.0.0.0')
    const ask = (host: string) =>
      raw(
        port,
        `GET /api/v1/me HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${secretOf('vic')}\r\nConnection: close\r\n\r\n`,
      )
    expect(await ask(`192.168.7.7:${port}`)).toMatch(/^HTTP\/1\.1 200/)
    expect(await ask('evil.com')).toMatch(/^HTTP\/1\.1 421/)
  })

  it('F8: two of them cannot have one port, and that is said', async () => {
    const { port } = await listening()
    const { server } = serverWorld({ clock: systemClock })
    await expect(server.listen({ port })).rejects.toMatchObject({
      code: 'LAZARET_LISTEN_REFUSED',
      message: `server: port ${port} of 127.0.0.1 is in use; use another port`,
    })
    await server.close()
    await expect(server.listen({ port: 0 })).rejects.toThrow('is closed')
  })

  it('F8: invalid or oversized HTTP does not bring it down', async () => {
    const { port, url } = await listening()
    expect(await raw(port, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400/)
    expect(await raw(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431/,
    )
    expect(await raw(port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 4\d\d/)
    const large = `POST /api/v1/replays HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: ${url}\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n{`
    expect(await raw(port, large)).toMatch(/^HTTP\/1\.1 413/)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })
})
