import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { withTempFolder } from '../../../test/support/folder.ts'
import { ROOT } from '../../../test/support/source.ts'

const MAIN = join(ROOT, 'src/cli/main.ts')
/** A server that sends alerts creates its store. */
const NOTIFY = 'notify: { targets: { ops: { type: slack, url: "http://127.0.0.1:1/" } } }\n'

/** `lazaret serve` in a process of its own. */
function startServe(cwd: string) {
  const server = spawn(process.execPath, [MAIN, 'serve'], { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise<number | null>(resolve => server.once('exit', resolve))
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: server.stderr }).on('line', line => {
    lines.push(line)
    for (const look of waiting) look()
  })
  /** The next line that matches. */
  const said = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const index = lines.findIndex(line => pattern.test(line))
        if (index === -1) return
        waiting.delete(look)
        resolve(pattern.exec(lines.splice(0, index + 1).at(-1)!)!)
      }
      waiting.add(look)
      void ended.then(code => reject(new Error(`ended with ${code}: ${lines.join('\n')}`)))
      look()
    })
  return { said, ended, signal: (name: NodeJS.Signals) => server.kill(name) }
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(`${url}/api/v1/overview`)).status
}

function listening(server: Server): Promise<number> {
  return new Promise(resolve =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
}

it('R1: SIGHUP restarts the server with new settings; with faults, or a port that is taken, the old ones stay', async () => {
  const sha256 = createHash('sha256').update('secret').digest('hex')
  const tokens = `tokens: [{ name: ann, role: admin, sha256: ${sha256} }]`
  const busy = createServer()
  const taken = await listening(busy)
  await withTempFolder(async cwd => {
    const configure = (server: string) =>
      writeFile(join(cwd, 'lazaret.yaml'), `store: file:./letters\nserver: { ${server} }\n${NOTIFY}`)
    await configure('port: 0')
    const { said, ended, signal } = startServe(cwd)
    try {
      const [, first] = await said(/^Lazaret listens on (\S+)$/)
      expect(await statusOf(first!)).toBe(200)

      await configure(`port: 0, ${tokens}`)
      signal('SIGHUP')
      const [, second] = await said(/^lazaret: new settings; Lazaret listens on (\S+)$/)
      expect(await statusOf(second!)).toBe(401)

      await configure('port: 70000')
      signal('SIGHUP')
      await said(/^lazaret: the settings stay as they are, because the new ones have faults:$/)
      await said(/^lazaret.yaml:2: server.port: got 70000; give a whole number from 0 to 65535$/)
      expect(await statusOf(second!)).toBe(401)

      await configure(`port: ${taken}`)
      signal('SIGHUP')
      const [, third] = await said(
        /^lazaret: the old settings at (\S+), because the new ones do not work: .*in use/,
      )
      expect(await statusOf(third!)).toBe(401)
    } finally {
      signal('SIGTERM')
      busy.close()
    }
    expect(await ended).toBe(0)
  })
})
