import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { systemClock } from '../../ports/clock.ts'

/** Runs it until it has said where it is, then asks there and presses Ctrl-C. */
async function serving(argv: readonly string[], visit: (url: string) => Promise<void>) {
  const { lazaretWith, bury, factory } = cliWorld()
  await bury(factory.letter())
  const interrupt = new AbortController()
  let saidSo: (url: string) => void = () => {}
  const said = new Promise<string>(resolve => {
    saidSo = resolve
  })
  const written: string[] = []
  const stderr = {
    isTerminal: false,
    columns: undefined,
    async write(text: string) {
      written.push(text)
      const [url] = /http:\/\/\S+/.exec(text) ?? []
      if (url !== undefined) saidSo(url)
    },
  }
  const env = { LAZARET_STORE: 'memory:' }
  const io = { stderr, env, interrupted: interrupt.signal, clock: systemClock }
  const ran = lazaretWith(io, 'serve', ...argv)
  await visit(await said)
  interrupt.abort()
  return { ...(await ran), written: written.join('') }
}

describe('lazaret serve', () => {
  it('F8: says where it is, answers there, and ends with Ctrl-C', async () => {
    let total = 0
    const { code, json, written } = await serving(['--port', '0', '--json'], async url => {
      const response = await fetch(`${url}/api/v1/overview`)
      total = ((await response.json()) as { letters: { total: number } }).letters.total
    })
    expect({ code, total }).toEqual({ code: 0, total: 1 })
    expect(written).toMatch(/^Lazaret listens on http:\/\/127\.0\.0\.1:\d+\nPress Ctrl-C to stop\n$/)
    expect(json).toEqual([{ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) }])
  })

  it('F8: answers below the path of --base-path, which takes precedence over the config', async () => {
    const status: number[] = []
    const { written } = await serving(['--port', '0', '--base-path', '/ops/lazaret/'], async url => {
      for (const path of [`${url}/api/v1/overview`, new URL('/api/v1/overview', url)])
        status.push((await fetch(path)).status)
    })
    expect(status).toEqual([200, 404])
    expect(written).toMatch(/^Lazaret listens on http:\/\/127\.0\.0\.1:\d+\/ops\/lazaret\n/)
  })

  it('F8: an invalid base path is wrong usage', async () => {
    const { code, err } = await cliWorld().lazaret('serve', '--base-path', 'lazaret')
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(`serve: invalid --base-path "lazaret"; give a path such as '/lazaret'`),
    ])
  })

  it('F8: on an address that others reach, it needs tokens and says so in one line', async () => {
    const { lazaret } = cliWorld()
    expect(await lazaret('serve', '--host', '0.0.0.0', '--port', '0')).toMatchObject({
      code: 1,
      out: '',
      err: 'lazaret: server: host 0.0.0.0 needs tokens, because other machines can reach it; give tokens (server.tokens in the config file) or signIn, or use the host 127.0.0.1\n',
    })
  })

  it('F8: an invalid port is wrong usage', async () => {
    const { lazaret } = cliWorld()
    const { code, err } = await lazaret('serve', '--port', '70000')
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('serve: invalid --port "70000"; give a port from 0'),
    ])
  })
})
