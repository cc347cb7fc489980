import { describe, expect, it } from 'vitest'
import { agentOn } from '../../../test/support/agent-client.ts'
import { HOME, PEOPLE, secretOf, serverWorld } from '../../../test/support/server-world.ts'
import { outputWithout } from '../../../test/support/without-package.ts'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

function post(
  world: ReturnType<typeof serverWorld>,
  headers: Readonly<Record<string, string>>,
  path = '/mcp',
) {
  return world.server.fetch(
    new Request(`${HOME}${path}`, {
      method: 'POST',
      headers: { host: '127.0.0.1:4600', ...HEADERS, ...headers },
      body: JSON.stringify(LIST),
    }),
  )
}
const bearer = (name: string) => ({ authorization: `Bearer ${secretOf(name)}` })

describe('S10: /mcp', () => {
  it('asks for a token like the rest of the server', async () => {
    const world = serverWorld({ tokens: PEOPLE })
    expect((await post(world, {})).status).toBe(401)
    expect((await post(world, { authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await post(world, bearer('vic'))).status).toBe(200)
  })

  it('refuses pages of other sites and unknown host names', async () => {
    const world = serverWorld()
    expect((await post(world, {})).status, 'a program on the same machine').toBe(200)
    expect((await post(world, { origin: HOME })).status).toBe(200)
    for (const headers of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'content-type': 'text/plain' },
    ])
      expect((await post(world, headers)).status, JSON.stringify(headers)).toBe(403)
    expect((await post(world, { host: 'evil.example' })).status).toBe(421)
  })

  it('is below the base path, and has the security headers', async () => {
    const world = serverWorld({ tokens: PEOPLE, basePath: '/ops' })
    const answer = await post(world, bearer('vic'), '/ops/mcp')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect((await post(world, bearer('vic'))).status).toBe(404)
  })

  it('is not there with agents: off', async () => {
    const world = serverWorld({ tokens: PEOPLE, agents: 'off' })
    const answer = await post(world, bearer('ada'))
    expect(answer.status).toBe(404)
    expect(await answer.text()).toContain('agents: off')
  })

  it('a token for agents works there and nowhere else, so that an agent cannot approve its own plan', async () => {
    const tokens = [...PEOPLE.slice(0, 2), { ...PEOPLE[2]!, agentOnly: true }]
    const world = serverWorld({ tokens, agents: { allow: ['replay'] } })
    const [letter] = await world.bury(world.make.letter())
    const agent = await agentOn(world.server, { token: 'ada' })
    const { data } = await agent.call('replay_dlq_event', { id: letter!.id, reason: 'x' })
    const approve = (token: string) =>
      world.tell(`/api/v1/replays/${data.id}/approve`, {}, { token: secretOf(token) })
    expect(await approve('ada')).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('/mcp') },
    })
    expect((await world.ask('/api/v1/overview', { token: secretOf('ada') })).status).toBe(403)
    expect((await approve('ola')).status).toBe(200)
  })

  it('names the missing package and the remedy', async () => {
    const printed = await outputWithout(
      '@modelcontextprotocol/server',
      `const { run } = await import('./src/cli/run.ts')
       const { processIo } = await import('./src/cli/process-io.ts')
       const out = text => Promise.resolve(void process.stdout.write(text))
       const io = { ...processIo(), stderr: { write: out, isTerminal: false, columns: undefined } }
       io.openStore = async () => (await import('./src/adapters/memory/index.ts')).memoryStore()
       console.log(await run(['mcp', '--store', 'memory:'], io))`,
    )
    expect(printed).toBe(
      'lazaret: @modelcontextprotocol/server: cannot be loaded; install it beside lazaret: npm install @modelcontextprotocol/server\n1',
    )
  })

  it('limits the calls of each token, and says when to retry', async () => {
    const world = serverWorld({ tokens: PEOPLE, agents: { rateLimit: { perSecond: 1, burst: 2 } } })
    const agent = await agentOn(world.server, { token: 'ola' })
    const other = await agentOn(world.server, { token: 'ola', name: 'another-name' })
    expect((await agent.call('list_groups')).isError).toBe(false)
    expect((await other.call('list_groups')).isError).toBe(false)
    for (const each of [agent, other])
      expect(await each.call('list_groups')).toMatchObject({
        isError: true,
        said: 'Too many requests. Retry in 1 s.',
      })
    const third = await agentOn(world.server, { token: 'vic' })
    expect((await third.call('list_groups')).isError).toBe(false)
    await world.clock.advance(1_000)
    expect((await agent.call('list_groups')).isError).toBe(false)
  })

  it('answers a fault of the input, a missing letter and a store that is down without a stack', async () => {
    const world = serverWorld({ tokens: PEOPLE })
    const agent = await agentOn(world.server, { token: 'vic' })
    const missing = await agent.call('get_dlq_event_detail', { id: 'nothing' })
    expect(missing).toMatchObject({ isError: true })
    expect(missing.said).toMatch(/^Nothing has this ID or name/)
    const wrong = await agent.call('list_dlq_events', { cursor: 'nonsense' })
    expect(wrong.isError).toBe(true)
    expect(wrong.texts[1]).toContain('cursor')
    world.store.deadLetters.list = async () => {
      throw new Error('the disk at /secret/path is full')
    }
    const down = await agent.call('list_dlq_events')
    expect(down.isError).toBe(true)
    expect(down.said).not.toContain('/secret/path')
  })
})
