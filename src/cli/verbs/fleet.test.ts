import { describe, expect, it, vi } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { memoryBroker, memoryDeadLetters, memorySink } from '../../adapters/memory/index.ts'
import { yieldToEventLoop } from '../../ports/clock.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { joinFleet } from '../../runtime/fleet/join-fleet.ts'

/** The command line, and processes of a service that it does not run in. */
async function fleetWorld(instances = 2) {
  const world = cliWorld()
  const { clock, store } = world
  const consumers = Array.from({ length: instances }, () =>
    createConsumer({
      broker: memoryBroker({ clock }),
      channel: 'orders',
      name: 'bill',
      deadLetters: memoryDeadLetters(),
      clock,
      schema: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: value => {
            const { amount, password } = value as { amount: unknown; password?: string }
            return typeof amount === 'number'
              ? { value }
              : { issues: [{ message: `no amount, ${password}` }] }
          },
        },
      },
      handle: () => {},
    }),
  )
  const crm = memorySink()
  const dispatchers = [
    createDispatcher({ sinks: { crm }, deadLetters: store.deadLetters, leaveOpen: true, clock }),
  ]
  const members = []
  for (const [n, consumer] of consumers.entries()) {
    await consumer.start()
    const shop = { store, service: 'shop', version: `1.${n}`, clock }
    members.push(joinFleet({ ...shop, consumers: [consumer], dispatchers }))
    await clock.advance(10)
  }
  const sendCommands = vi.spyOn(store.commands!, 'send')
  /** Runs a command. Time passes once it has asked the processes: to load its code takes no time of theirs. */
  const whilePassing = async (...argv: string[]) => {
    const { length: earlier } = sendCommands.mock.calls
    const running = world.lazaret(...argv)
    let isOver = false
    void running.finally(() => {
      isOver = true
    })
    while (!isOver) {
      if (sendCommands.mock.calls.length > earlier) await clock.advance(250)
      else await yieldToEventLoop()
    }
    return running
  }
  return {
    ...world,
    members,
    consumers,
    crm,
    whilePassing,
    paused: () => consumers.map(each => each.health().paused),
  }
}

describe('lazaret fleet', () => {
  it('B17: lists and shows the processes of other services', async () => {
    const { lazaret, members, clock } = await fleetWorld()
    const { code, out } = await lazaret('fleet', 'list')
    expect(code).toBe(0)
    expect(out).toContain('SERVICE')
    expect(out).toMatch(new RegExp(`${members[0]!.id}\\s+shop\\s+1.0\\s+alive`))
    const { json } = await lazaret('fleet', 'list', '--json')
    expect(json).toMatchObject([{ state: 'alive', report: { service: 'shop', version: '1.0' } }, {}])
    const shown = await lazaret('fleet', 'show', members[1]!.id)
    expect(shown.out).toContain('orders/bill on memory, breaker closed')
    await members[1]!.close()
    await clock.advance(1)
    expect((await lazaret('fleet', 'show', members[1]!.id)).out).toContain('left')
    expect(await lazaret('fleet', 'list', '--service', 'mailer')).toMatchObject({
      code: 0,
      err: 'no processes match\n',
    })
    expect((await lazaret('fleet', 'show', 'nobody')).code).toBe(1)
  })

  it('B17: lists page by page, and only processes in a state', async () => {
    const { lazaret, members, clock } = await fleetWorld(3)
    const first = await lazaret('fleet', 'list', '--limit', '2', '--json')
    expect(first.json).toMatchObject(members.slice(0, 2).map(({ id }) => ({ report: { id } })))
    const [, cursor] = /--cursor (\S+)/.exec(first.err) ?? []
    const rest = await lazaret('fleet', 'list', '--limit', '2', '--json', '--cursor', cursor!)
    expect(rest).toMatchObject({ err: '', json: [{ report: { id: members[2]!.id } }] })
    await members[0]!.close()
    await clock.advance(1)
    const left = await lazaret('fleet', 'list', '--state', 'left', '--json')
    expect(left.json).toMatchObject([{ state: 'left', report: { id: members[0]!.id } }])
    const wrong = await lazaret('fleet', 'list', '--cursor', 'x')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('invalid --cursor "x"')])
  })

  it('B17: pauses and resumes a channel everywhere, with one line for each process', async () => {
    const { whilePassing, members, paused, store } = await fleetWorld()
    const { code, out } = await whilePassing('fleet', 'pause', '--channel', 'orders', '--reason', 'a release')
    expect([code, paused()]).toEqual([0, [['manual'], ['manual']]])
    for (const { id } of members) expect(out).toMatch(new RegExp(`shop ${id} on .*: done`))
    const { entries } = await store.audit.list({})
    expect(entries).toMatchObject([
      { action: 'fleet.pause', target: 'orders', detail: { reason: 'a release' } },
    ])
    expect((await whilePassing('fleet', 'resume', '--channel', 'orders')).code).toBe(0)
    expect(paused()).toEqual([[], []])
  })

  it.each(['reason', 'by'])(
    'B17: a %s that commands cannot have is one fault, and the audit log has no such request',
    async name => {
      const { whilePassing, paused, store } = await fleetWorld()
      const tooLong = 'x'.repeat(1_001)
      const { code, err } = await whilePassing('fleet', 'pause', '--channel', 'orders', `--${name}`, tooLong)
      expect(code).toBe(2)
      expect(err).toMatch(new RegExp(`^lazaret: ${name}: got "x.*; give a string of 1 to 1000 characters\n$`))
      expect([paused(), (await store.audit.list({})).entries]).toEqual([[[], []], []])
    },
  )

  it('B17: forces a breaker in one process', async () => {
    const { whilePassing, members, consumers } = await fleetWorld()
    const id = members[1]!.id
    const { code } = await whilePassing(
      'fleet',
      'breaker',
      '--to',
      'open',
      '--channel',
      'orders',
      '--instance',
      id,
    )
    expect(code).toBe(0)
    expect(consumers.map(each => each.health().breakerState)).toEqual(['closed', 'forced-open'])
  })

  it('B17: probes every process that has the channel or the sink', async () => {
    const { whilePassing, consumers } = await fleetWorld()
    consumers[0]!.pause()
    const { code, out } = await whilePassing('fleet', 'probe', '--channel', 'orders')
    expect([code, out.match(/orders\/bill on memory, breaker closed/g)]).toMatchObject([0, { length: 2 }])
    expect(out.match(/paused \(manual\)/g)).toHaveLength(1)
    expect((await whilePassing('fleet', 'probe', '--sink', 'crm')).out).toContain('crm: breaker closed')
  })

  it('B17, B13: validates letters in one process, and masks what the schema quotes', async () => {
    const { whilePassing, bury, factory } = await fleetWorld()
    const bad = factory.event({ payload: { password: 'hunter2' } })
    const [good, refused] = await bury(
      factory.letter({ handler: 'bill' }),
      factory.letter({ handler: 'bill', event: bad }),
    )
    const { code, out } = await whilePassing('fleet', 'validate', '--channel', 'orders')
    expect([code, out]).toEqual([0, expect.stringContaining('1 valid, 1 invalid')])
    expect(out).toMatch(new RegExp(`${refused!.id} invalid: no amount`))
    expect(out).not.toMatch(/hunter2/)
    const { json } = await whilePassing('fleet', 'validate', good!.id, '--channel', 'orders', '--json')
    expect(json).toMatchObject([
      { state: 'done', outcome: { result: { valid: 1, letters: [{ id: good!.id }] } } },
    ])
  })

  it('B17: resends the letters of a sink from one process', async () => {
    const { whilePassing, bury, factory, crm, store } = await fleetWorld()
    const [letter] = await bury(
      factory.letter({ handler: 'crm', origin: {} }),
      factory.letter({ handler: 'bill' }),
    )
    const { code, out } = await whilePassing('fleet', 'resend', '--sink', 'crm', '--reason', 'it is back')
    expect([code, out]).toEqual([0, expect.stringMatching(/shop .*: done\n {2}1 delivered\n/)])
    expect(crm.events.map(({ id }) => id)).toEqual([letter!.event.id])
    expect((await store.deadLetters.get(letter!.id))?.state).toBe('resolved')
    expect((await whilePassing('fleet', 'resend', '--sink', 'crm')).out).toContain('no dead letters')
  })

  it('B17: pauses any one process with --any', async () => {
    const { whilePassing, paused } = await fleetWorld(3)
    const { code, out } = await whilePassing('fleet', 'pause', '--channel', 'orders', '--any')
    expect([code, out.split('\n').length, paused().flat()]).toEqual([0, 2, ['manual']])
  })

  it('B17: says which process did not answer, with exit 3, and 1 when none did', async () => {
    const { whilePassing, store } = await fleetWorld(1)
    const silent = { v: 1, service: 'shop', host: 'h', pid: 1, startedAt: 0, sinks: [] } as const
    const [alive] = await store.fleet!.list()
    await store.fleet!.report({ ...silent, id: 'silent', consumers: alive!.report.consumers }, 3_600_000)
    const some = await whilePassing('fleet', 'pause', '--channel', 'orders')
    expect([some.code, some.out]).toEqual([3, expect.stringContaining('silent on h: not taken yet')])
    const none = await whilePassing('fleet', 'pause', '--channel', 'orders', '--instance', 'silent')
    expect(none.code).toBe(1)
  })

  it.each([
    [['pause'], 2, /--channel is missing/],
    [['breaker', '--channel', 'orders'], 2, /--to is missing/],
    [['breaker', '--to', 'open'], 2, /either --channel or --sink/],
    [['probe'], 2, /fleet probe: give either --channel or --sink/],
    [['validate'], 2, /fleet validate: --channel is missing/],
    [['resend'], 2, /fleet resend: --sink is missing/],
    [['resend', 'nobody', '--sink', 'crm'], 1, /no dead letter has the ID nobody/],
    [['pause', '--channel', 'mails'], 1, /no living process consumes mails/],
  ])('B17: fleet %j is refused with the remedy', async (argv, code, message) => {
    const { whilePassing } = await fleetWorld(1)
    const answer = await whilePassing('fleet', ...argv)
    expect([answer.code, answer.err]).toEqual([code, expect.stringMatching(message)])
  })
})
