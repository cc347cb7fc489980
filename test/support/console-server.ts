import { createHash } from 'node:crypto'
import { memoryStore } from '../../src/adapters/memory/index.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { Store } from '../../src/ports/store.ts'
import { createServer, type ServerOptions } from '../../src/server/index.ts'

export interface ConsoleServer {
  readonly url: string
  readonly store: Store
  close(): Promise<void>
}

/** The server with the console on letters of a test's own. */
export async function serveLetters(
  letters: readonly DeadLetter[],
  options: Partial<ServerOptions> = {},
): Promise<ConsoleServer> {
  const store = memoryStore()
  for (const letter of letters) await store.deadLetters.send(letter)
  const server = createServer({ stores: store, ...options })
  const { url, close } = await server.listen({ port: 0 })
  return {
    url,
    store,
    async close() {
      await close()
      await server.close()
      await store.close()
    },
  }
}

export function tokenFor(name: string, role: 'viewer' | 'operator' | 'admin') {
  const token = `token-of-${name}-0123456789`
  return { token, option: { name, role, sha256: createHash('sha256').update(token).digest('hex') } }
}
