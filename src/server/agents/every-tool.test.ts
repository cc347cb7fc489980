import { afterEach, describe, expect, it } from 'vitest'
import { type Agent, agentOn, type ToolAnswer } from '../../../test/support/agent-client.ts'
import { dumpStore, PEOPLE, secretOf, serverWorld } from '../../../test/support/server-world.ts'
import { AGENT_RIGHTS, type AgentRight } from '../../core/options/agents.ts'
import { RANK } from '../auth/roles.ts'
import { action } from '../schema/me.ts'
import { TOOLS } from './tools/index.ts'

const NAMES = [
  'cancel_replay',
  'discard_dlq_event',
  'get_dlq_event_detail',
  'get_group',
  'get_overview',
  'get_replay',
  'list_channels',
  'list_dlq_events',
  'list_groups',
  'pause_replay',
  'plan_replay',
  'replay_dlq_event',
  'search_audit',
  'start_replay',
  'update_group',
]
/** What these make waits for a person. */
const WAITING = ['plan_replay', 'replay_dlq_event', 'start_replay']
const ALLOWED: readonly (readonly AgentRight[])[] = [[], ...AGENT_RIGHTS.map(right => [right]), AGENT_RIGHTS]

let agents: Agent[] = []
afterEach(async () => {
  await Promise.all(agents.splice(0).map(each => each.close()))
  agents = []
})

async function world(allow: readonly AgentRight[], token: string) {
  const base = serverWorld({ tokens: PEOPLE, agents: { allow } })
  const { ask, tell, make, bury, store, server } = base
  const letters = await bury(...Array.from({ length: 6 }, () => make.letter()))
  const planned = await tell(
    '/api/v1/replays',
    { ids: [letters[0]!.id], reason: 'x', needsApproval: true },
    { token: secretOf('ada') },
  )
  const plan = { ids: [letters[1]!.id], reason: 'x', perSecond: 0.001 }
  const running = await tell('/api/v1/replays', plan, { token: secretOf('ada') })
  await tell(`/api/v1/replays/${running.body.id}/start`, {}, { token: secretOf('ada') })
  const groups = await ask('/api/v1/groups', { token: secretOf('ada') })
  const agent = await agentOn(server, { token })
  agents.push(agent)
  const group = groups.body.groups[0].id
  const inputs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    get_dlq_event_detail: { id: letters[2]!.id },
    discard_dlq_event: { id: letters[2]!.id, reason: 'a test order' },
    get_group: { id: group },
    update_group: { id: group, state: 'acknowledged', note: 'looking' },
    plan_replay: { filter: { group }, reason: 'the database is back' },
    replay_dlq_event: { id: letters[3]!.id, reason: 'the database is back' },
    get_replay: { id: planned.body.id },
    start_replay: { id: planned.body.id },
    pause_replay: { id: running.body.id },
    cancel_replay: { id: planned.body.id },
  }
  return { ...base, agent, store, call: (name: string) => agent.call(name, inputs[name] ?? {}) }
}

function outcomeOf({ isError, data }: ToolAnswer): 'refused' | 'waiting' | 'allowed' {
  if (isError) return 'refused'
  return data.nextStep === 'wait_for_approval' ? 'waiting' : 'allowed'
}

describe('S10: every tool of the table', () => {
  it('is one of the fifteen of the contract', () => {
    expect(TOOLS.map(({ name }) => name).sort()).toEqual(NAMES)
  })

  it('changes nothing but what people can change, and neither configuration, roles nor retention', () => {
    const actions = new Set(TOOLS.flatMap(tool => tool.actions))
    expect([...actions].sort()).toEqual([
      'group.triage',
      'letter.discard',
      'replay.cancel',
      'replay.pause',
      'replay.plan',
      'replay.start',
    ])
    for (const tool of TOOLS) expect(tool.right === 'read', tool.name).toBe(tool.actions.length === 0)
  })

  it('tells the truth in its annotations', async () => {
    const { agent } = await world([], 'vic')
    const { tools } = await agent.client.listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual(NAMES)
    const hints = (hint: 'readOnlyHint' | 'destructiveHint' | 'idempotentHint') =>
      tools.flatMap(({ name, annotations }) => (annotations?.[hint] === true ? [name] : [])).sort()
    const reading = TOOLS.flatMap(({ name, right }) => (right === 'read' ? [name] : [])).sort()
    expect(hints('readOnlyHint')).toEqual(reading)
    expect(hints('destructiveHint')).toEqual(['cancel_replay', 'discard_dlq_event'])
    expect(hints('idempotentHint')).toEqual(reading)
    for (const { name, description, inputSchema, outputSchema } of tools) {
      expect(description?.length, name).toBeGreaterThan(40)
      expect(inputSchema.type, name).toBe('object')
      expect(outputSchema?.['type'], name).toBe('object')
    }
  })

  for (const { name: token, role } of PEOPLE)
    for (const allow of ALLOWED)
      it(`with the role ${role} and agents.allow [${allow.join(', ')}]`, async () => {
        for (const tool of TOOLS) {
          const { agent, call, store } = await world(allow, token)
          const before = await dumpStore(store)
          const answer = await call(tool.name)
          const isAllowed =
            tool.right === 'read' || (allow.includes(tool.right) && RANK[role] >= RANK.operator)
          const waits = WAITING.includes(tool.name) ? 'waiting' : 'allowed'
          const isShowingWaiting = tool.name === 'get_replay'
          expect(outcomeOf(answer), `${tool.name}: ${answer.said}`).toBe(
            isShowingWaiting ? 'waiting' : isAllowed ? waits : 'refused',
          )
          const after = await dumpStore(store)
          if (!isAllowed || tool.right === 'read') expect(after, tool.name).toEqual(before)
          if (!isAllowed) expect(answer.said).toMatch(/needs the (right|role) \w+/)
          else if (tool.right !== 'read' && tool.name !== 'start_replay')
            expect(after.entries[0]?.by, tool.name).toBe(`agent:tester for ${token}`)
          await agent.close()
        }
      })

  it('never runs another action of the API, whatever the role and the rights', async () => {
    const base = serverWorld({ tokens: PEOPLE })
    const { Permissions } = await import('../auth/permissions.ts')
    const permissions = new Permissions(false)
    const rights = new Set(AGENT_RIGHTS)
    const caller = { name: 'agent:x for ada', role: 'admin', kind: 'token', agent: rights } as const
    const allowed = action.options.filter(each => permissions.of(caller, each).allowed)
    expect(allowed.sort()).toEqual([...new Set(TOOLS.flatMap(tool => tool.actions))].sort())
    await base.server.close()
  })
})
