import { expect, it } from 'vitest'
import { type CliWorld, cliWorld, type Ran } from '../../../test/support/cli.ts'
import { joinFailing, ONLY_ITS_OWN } from '../../../test/support/failing-process.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { joinFleet } from '../../runtime/fleet/join-fleet.ts'
import { replayOf } from '../../testing/conformance/store/replays.ts'
import { settle } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'

/** Runs a command. Time passes from the moment that it asks a process. */
async function runInTime({ clock, store, lazaret }: CliWorld, argv: readonly string[]): Promise<Ran> {
  const commands = async () => (await store.commands!.list(100)).length
  const before = await commands()
  const running = lazaret(...argv)
  let isOver = false
  void running.finally(() => {
    isOver = true
  })
  while (!isOver) await ((await commands()) > before ? clock.advance(50) : settle())
  return running
}

/** The command line, and a service in another process whose consumer has a schema. */
async function fleetWorld() {
  const world = cliWorld()
  const { clock, store } = world
  const consumer = createConsumer({
    ...{ broker: store.broker!, channel: 'orders', name: 'bill', clock },
    ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
    schema: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: value => {
          const { amount, password } = value as { amount: unknown; password?: string }
          return typeof amount === 'number' ? { value } : { issues: [{ message: `no amount, ${password}` }] }
        },
      },
    },
  })
  const shop = { service: 'shop', version: '2.4.1', consumers: [consumer] }
  const member = joinFleet({ store, clock, random: seededRandom(1), ...shop })
  await clock.advance(3_000)
  return {
    ...world,
    member,
    run: (...argv: readonly string[]) => runInTime(world, argv),
    bury: (payload: object) =>
      store.deadLetters.send(
        world.factory.letter({
          ...{ handler: 'bill', origin: { broker: store.broker!.name } },
          event: world.factory.event({ payload: payload as { amount: number } }),
        }),
      ),
  }
}

it('K8, P2: a plan shows what a living consumer says, masked, whose word that is and how old', async () => {
  const { clock, bury, run, member } = await fleetWorld()
  await bury({ amount: 1 })
  await clock.advance(1)
  await bury({ password: 'hunter2' })
  const { code, out } = await run('replay', 'plan', '--reason', 'fixed')
  expect(code).toBe(0)
  const who = `shop 2.4.1 ${member.id}`
  expect(out.slice(out.indexOf('Gates\n'))).toMatch(
    new RegExp(`^Gates
  1 letter will be sent
  1 letter skipped: payload refused by the schema, or not checked \\(no amount, \\*\\*\\*\\)
  schema of orders/bill: 2 letters checked by ${who}, now
  downstream of orders: 1 letter checked by ${who}, 3s ago
`),
  )
  const [, id] = /^replay (\S+)/.exec(out) ?? []
  const shown = await run('replay', 'show', id!)
  expect(shown.out).toContain('(no amount, ***)')
  expect(shown.out).toContain(`schema of orders/bill: 2 letters checked by ${who}`)
  const { json } = await run('replay', 'show', id!, '--json')
  expect(json[0].checks).toMatchObject([
    { gate: 'schema', answer: { answeredBy: 'fleet', processes: [{ id: member.id, service: 'shop' }] } },
    { gate: 'downstream', answer: { answeredBy: 'fleet', saidAt: expect.stringContaining('2026-01-01T') } },
  ])
})

it('K8, P2: a plan that could send nothing says so too, and an error of the process is masked', async () => {
  const { bury, run, member, store } = await fleetWorld()
  await bury({ password: 'hunter2' })
  const { code, err } = await run('replay', 'plan', '--reason', 'fixed')
  expect(code).toBe(1)
  expect(err).toContain('(no amount, ***)')
  expect(err).toContain(`schema of orders/bill: 1 letter checked by shop 2.4.1 ${member.id}, now`)
  const commands = store.commands!
  const { finish } = commands
  commands.finish = (id, instance) =>
    finish.call(commands, id, instance, { ok: false, error: 'postgres://ann:hunter2@db is away' })
  const planned = await run('replay', 'plan', '--reason', 'fixed')
  expect(planned.out).toMatch(/not checked: the process \S+ of shop could not check it: .*@db is away/)
  const { out } = await run('replay', 'list', '--json')
  expect(out).toContain('could not check it')
  expect(planned.out + planned.err + out).not.toContain('hunter2')
})

it('B18, P2: a replay shows why no process sends its letters, and since when, masked', async () => {
  const { run, store, clock } = await fleetWorld()
  const reason = 'the process p1 could not send the letters: postgres://ann:hunter2@db is away'
  const problem = { reason, since: clock.now() - 120_000 }
  await store.replays.create(replayOf('stuck', { state: 'running', problem }), [])
  const { out } = await run('replay', 'show', 'stuck')
  expect(out).toMatch(/problem +the process p1 could not send the letters: .*@db is away, since .*2m ago/)
  const { out: listed } = await run('replay', 'list', '--json')
  expect(JSON.parse(listed).problem).toMatchObject({ reason: expect.stringContaining('db is away') })
  expect(out + listed).not.toContain('hunter2')
})

it('B13, P2: a replay is shown with the values of its patch masked, and with what its problem quotes of them', async () => {
  const { run, store, clock } = await fleetWorld()
  const patch = [{ op: 'replace', path: '/customer', value: { name: 'Ada Lovelace', id: 7 } }] as const
  const problem = { reason: 'it failed: no Ada Lovelace', since: clock.now() }
  await store.replays.create(replayOf('edited', { state: 'running', patch, problem }), [])
  const { out } = await run('replay', 'show', 'edited')
  expect(out).toContain('{"op":"replace","path":"/customer","value":{"name":"***","id":7}}')
  expect(out).toMatch(/problem +it failed: no \*\*\*/)
  const { out: listed } = await run('replay', 'list', '--json')
  expect(JSON.parse(listed).patch[0].value).toEqual({ name: '***', id: 7 })
  expect(out + listed).not.toContain('Ada')
})

it('B18, P2: the error of a replay that no process delivers hides what is masked in its letters', async () => {
  const world = cliWorld()
  const { store, clock, factory, bury } = world
  await bury(factory.letter({ ...ONLY_ITS_OWN, event: factory.event({ payload: { password: 'hunter2' } }) }))
  await joinFailing(store, clock, 'no user has hunter2')
  const planned = await runInTime(world, ['replay', 'plan', '--reason', 'fixed', '--json'])
  const { code, out, err } = await runInTime(world, ['replay', 'start', planned.json[0].id])
  expect(code).toBe(1)
  expect(err).toMatch(
    /is not delivered: the process .* could not send the letters: no user has \*\*\*; fix that/,
  )
  expect(out + err).not.toContain('hunter2')
})
