import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

interface Line {
  readonly type: string
  readonly payload: { readonly n?: number; readonly msg: string }
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}

/** Runs the service with its transport's module, and answers with what it sent and said. */
async function run(module: string) {
  const lines: Line[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    lines.push(...(JSON.parse(body) as Line[]))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const env = {
      ...process.env,
      MODULE: module,
      RECEIVER: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    }
    const child = spawn(process.execPath, ['--no-warnings', pathOf('./service.ts')], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      said += piece
    })
    const [code] = await once(child, 'close')
    return { lines, said, code }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('lazaret/pino in the thread of a transport', () => {
  it('E17: a process that logs and ends has sent every line', async () => {
    const { lines, said, code } = await run(new URL('./events.ts', import.meta.url).href)
    expect([said, code]).toEqual(['', 0])
    expect(lines.filter(({ type }) => type === 'log.info').map(({ payload }) => payload.n)).toEqual(
      Array.from({ length: 200 }, (_, n) => n),
    )
    expect(lines.at(-1)).toMatchObject({ type: 'log.error', payload: { msg: 'last words' } })
  })

  it('E17: a module that is not there, or exports no dispatcher, is named with the remedy', async () => {
    const missing = await run('./no-such-module.ts')
    expect(missing.said).toContain(
      'lazaret/pino.module: got "./no-such-module.ts"; name a module that can be imported',
    )
    expect(missing.code).not.toBe(0)
    const empty = await run('node:util')
    expect(empty.said).toContain("export the result of createDispatcher() as 'events' or 'default'")
  })

  it('E21: a module that logs through the transport it is loaded by starts no threads without end', async () => {
    const { lines, said, code } = await run(pathOf('./looping.ts'))
    expect([said, code, lines.length]).toEqual(['', 0, 201])
    expect(lines.filter(({ payload }) => payload.msg === 'one more thread')).toEqual([])
  })
})
