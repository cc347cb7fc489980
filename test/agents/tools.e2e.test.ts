import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TOOLS } from '../../src/server/agents/tools/index.ts'
import { type Agent, agentAt, agentWithProcess } from '../support/agent-client.ts'
import { fillSqlite } from '../support/agent-letters.ts'
import { type Started, startScript } from '../support/lazaret-process.ts'

const LETTERS = 10_000
const TOKEN = 'the-token-of-the-agent'
const CONFIG = `
store: sqlite:./letters.db
agents:
  allow: [replay, triage, discard]
  rateLimit: { perSecond: 1000 }
server:
  port: 0
  tokens:
    - { name: bot, role: operator, sha256: ${createHash('sha256').update(TOKEN).digest('hex')} }
`

let folder: string
let server: Started
let url: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-agents-'))
  await fillSqlite(join(folder, 'letters.db'), LETTERS)
  await writeFile(join(folder, 'lazaret.yaml'), CONFIG)
  server = startScript('lazaret serve', folder)
  const [, found] = await server.matches(/listens on (\S+)/)
  url = found!
})

afterAll(async () => {
  server.signal('SIGTERM')
  await server.ended
  await rm(folder, { recursive: true })
})

type Connect = () => Promise<Agent>
const stdio = (mode: 'auto' | 'legacy') => () =>
  agentWithProcess(['--allow', 'replay,triage,discard'], folder, mode)
const transports: Readonly<Record<string, { connect: Connect; actor: string }>> = {
  'stdio, newest revision': { connect: stdio('auto'), actor: 'agent:tester for ann' },
  'stdio, 2025 revision': { connect: stdio('legacy'), actor: 'agent:tester for ann' },
  'HTTP, newest revision': { connect: () => agentAt(url, TOKEN), actor: 'agent:tester for bot' },
  // Each request of the older revision stands alone, and names no client.
  'HTTP, 2025 revision': { connect: () => agentAt(url, TOKEN, 'legacy'), actor: 'agent:unknown for bot' },
}

describe('S10: the official client drives every tool over 10 000 letters', () => {
  for (const [name, { connect, actor }] of Object.entries(transports))
    it(`over ${name}`, async () => {
      const agent = await connect()
      const called = new Set<string>()
      // The client checks each answer against the output schema of the tool.
      const call = async (tool: string, input?: Readonly<Record<string, unknown>>) => {
        const answer = await agent.call(tool, input)
        expect(answer.isError, `${tool}: ${answer.texts.join('\n')}`).toBe(false)
        called.add(tool)
        return answer.data
      }
      expect((await agent.client.listTools()).tools).toHaveLength(TOOLS.length)

      const overview = await call('get_overview')
      expect(overview.letters.total).toBe(LETTERS)
      const { channels } = await call('list_channels')
      expect(channels).toHaveLength(4)
      const { groups } = await call('list_groups')
      expect(groups).toHaveLength(3)
      const group = await call('get_group', { id: groups[0].id })
      expect(group.untrusted.title).toMatch(/\w/)

      const filter = { channel: 'orders', state: 'dead', limit: 100 }
      let page = await call('list_dlq_events', filter)
      const ids = new Set<string>()
      while (page.cursor !== undefined && ids.size < 500) {
        for (const { id } of page.letters) ids.add(id)
        page = await call('list_dlq_events', { ...filter, cursor: page.cursor })
      }
      expect(ids.size, 'pages follow each other without gap or repetition').toBe(500)
      const [first, second] = [...ids]
      const shown = await call('get_dlq_event_detail', { id: first })
      expect(JSON.stringify(shown)).not.toContain('4111111111111111')

      await call('update_group', { id: groups[0].id, state: 'acknowledged', note: 'an agent looks at it' })
      expect((await call('discard_dlq_event', { id: first, reason: 'a test order' })).state).toBe('discarded')
      const one = await call('replay_dlq_event', { id: second, reason: 'the database is back' })
      expect(one.nextStep).toBe('wait_for_approval')
      expect((await call('cancel_replay', { id: one.id, reason: 'not needed' })).state).toBe('cancelled')
      const planned = await call('plan_replay', { ids: [...ids].slice(2, 4), reason: 'the database is back' })
      expect((await call('get_replay', { id: planned.id })).state).toBe('planned')
      expect((await call('start_replay', { id: planned.id })).nextStep).toBe('wait_for_approval')
      const refused = await agent.call('pause_replay', { id: planned.id })
      expect(refused.said).toMatch(/must be running/)
      called.add('pause_replay')
      const { entries } = await call('search_audit', { target: planned.id })
      expect(entries[0].untrusted.by).toBe(actor)
      expect([...called].sort()).toEqual(TOOLS.map(tool => tool.name).sort())

      const { resources } = await agent.client.listResources()
      expect(resources.length).toBeGreaterThan(10)
      const runbook = await agent.client.readResource({ uri: 'lazaret://runbooks/breaker-open' })
      expect(JSON.stringify(runbook)).toContain('breaker')
      const letter = await agent.client.readResource({ uri: `lazaret://letters/${first}` })
      expect(JSON.stringify(letter)).toContain('untrusted')
      const { prompts } = await agent.client.listPrompts()
      expect(prompts.map(prompt => prompt.name).sort()).toEqual([
        'review_replay',
        'triage_alert',
        'write_post_mortem',
      ])
      const prompt = await agent.client.getPrompt({ name: 'review_replay', arguments: { id: planned.id } })
      expect(JSON.stringify(prompt.messages)).toContain(planned.id)
      await agent.close()
    })
})
