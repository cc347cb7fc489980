import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { serveLetters } from './console-server.ts'
import { fleetWorld } from './fleet-world.ts'

/** Names as long as those that people give; one of them cannot be broken at a hyphen. */
const LONG = {
  channel: 'international-order-fulfilment-and-customs-declarations',
  handler: 'send_customs_declarations_to_the_authorities_of_the_destination',
  silent: 'warehouse.stock.corrections.without.anybody.who.consumes.them',
  error: 'CustomsDeclarationRefusedByAuthorityOfDestinationError',
  service: 'international-fulfilment-and-customs-service',
} as const
const TEN_YEARS_MS = 315_360_000_000
const TOUR_STEPS = 7

/**
 * A server whose screens have something of every kind, with long names: a channel with a consumer in this process, one with
 * consumers only in the fleet, one without any, and a sink; a replay that is planned and one that has halted.
 */
export async function layoutWorld() {
  const world = fleetWorld()
  const { clock, store } = world
  const { letter, event, attempt } = createFactory({ clock })
  const local = createConsumer({
    ...{ broker: store.broker!, channel: LONG.channel, name: LONG.handler, clock },
    deadLetters: store.deadLetters,
    retry: { attempts: 1 },
    breaker: { failures: 5, openMs: 30_000 },
    async handle() {
      throw longError()
    },
  })
  await local.start()
  for (const pid of [101, 202])
    await world.start({
      ...{
        service: LONG.service,
        version: `2.4.${pid}`,
        release: 'r-2026-11-17-hotfix-of-the-customs-forms',
        pid,
      },
      host: `ip-10-0-${pid}.eu-central-1.compute.internal`,
      fails: pid === 202,
    })
  const letters = [
    ...Array.from({ length: 12 }, (_, index) =>
      letter({
        ...{
          channel: LONG.channel,
          handler: LONG.handler,
          error: longError(),
          release: '2.4.0-rc.11+build.20261117',
        },
        event: event({
          channel: LONG.channel,
          type: 'fulfilment.customs.declaration.requested',
          key: `customer-${index}-of-the-northern-region`,
        }),
        attempts: [attempt(1), attempt(2)],
        origin: { broker: 'memory' },
      }),
    ),
    letter({ error: new TypeError('no total') }),
    letter({ channel: LONG.silent, handler: 'correct' }),
    letter({ channel: 'crm', handler: 'crm', reason: 'attempts_exhausted' }),
  ]
  for (const each of letters) await store.deadLetters.send(each)
  await recoverSome()
  const server = await serveLetters([], {
    ...{ stores: store, consumers: [local], degradedAt: 5 },
    extensions: { demo: { state: tour, act: async () => tour() } },
  })
  /** Letters of the same cause that a replay has recovered, and what separates them. */
  async function recoverSome(): Promise<void> {
    for (let index = 0; index < 6; index++) {
      const payload = {
        consigneeAddressPostalCodeOfTheDestination: '00-000-recovered-in-the-southern-region',
      }
      const recovered = letter({
        ...{ channel: LONG.channel, handler: LONG.handler, error: longError() },
        event: event({ channel: LONG.channel, payload }),
      })
      await store.deadLetters.send(recovered)
      await store.deadLetters.change(recovered.id, { to: 'replaying', at: clock.now(), replayId: 'earlier' })
      await store.deadLetters.change(recovered.id, { to: 'resolved', at: clock.now() })
    }
  }

  async function ask<T>(path: string, json?: unknown): Promise<T> {
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
      headers: { 'content-type': 'application/json', origin: server.url },
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }

  async function planReplay(): Promise<string> {
    const reason = 'The customs authority accepts declarations of the northern region again'
    const plan = { reason, filter: { group }, maxAgeMs: TEN_YEARS_MS, stages: [1, 'rest'] }
    return (await ask<{ id: string }>('/replays', plan)).id
  }

  const { groups } = await ask<{ groups: readonly { id: string }[] }>(`/groups?search=${LONG.error}`)
  const group = groups[0]!.id
  const planned = await planReplay()
  const halted = await planReplay()
  const stream = await fetch(`${server.url}/api/v1/stream`)
  await ask(`/replays/${halted}/start`, { reason: 'the authority said so' })
  // The stream tells of every change; the one waited for is the halt.
  for await (const _ of stream.body!)
    if ((await ask<{ state: string }>(`/replays/${halted}`)).state === 'halted') break
  return {
    ...{ url: server.url, group, planned, halted, letter: letters[0]!.id, otherLetter: letters[1]!.id },
    async close() {
      await server.close()
      await local.close()
      await world.close()
    },
  }
}

function longError(): Error {
  const message = `declaration DE/2026/11/${'0'.repeat(40)} was refused: field consignee.address.postalCode is required`
  return Object.assign(new Error(message), {
    name: LONG.error,
    stack: `${LONG.error}: ${message}\n    at declare (/srv/fulfilment/src/customs/authorities/declare.ts:118:11)`,
  })
}

function tour() {
  return {
    title: 'A night at the shop',
    steps: Array.from({ length: TOUR_STEPS }, (_, index) => ({
      id: `step-${index}`,
      title: `The warehouse changes its address format, part ${index + 1}`,
      text: 'Its handler fails on every event with the new format. Open the group and look at what the letters share.',
      done: index < 2,
      href: '/groups',
      ...(index === 2 && { action: { id: 'repair', label: 'Repair the warehouse', enabled: true } }),
    })),
  }
}
