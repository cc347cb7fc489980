import assert from 'node:assert/strict'
import type { Fleet, InstanceReport, ReportedConsumer, ReportedSink } from '../../../ports/fleet.ts'
import { inFleetWorld, LONG_MS, type StoreConformance } from './suite.ts'

const STARTED = 1_700_000_000_000

const CONSUMER: ReportedConsumer = {
  channel: 'orders',
  handler: 'bill',
  broker: 'rabbitmq',
  breaker: 'closed',
  paused: ['manual'],
  perMinute: 1.5,
  failureRate: 0.25,
  active: 3,
  waiting: 2,
  lastProcessedAt: STARTED,
  lag: 7,
}

const SINK: ReportedSink = {
  name: 'crm',
  breaker: 'half-open',
  buffered: 4,
  inFlight: 1,
  retrying: 2,
  delivered: 100,
  gaveUp: 5,
  lastDeliveredAt: STARTED,
}

/** The report of a process. */
function reportOf(id: string, change: Partial<InstanceReport> = {}): InstanceReport {
  const parts = { consumers: [CONSUMER], sinks: [SINK] }
  const names = { service: 'orders', version: '1.2.3', release: '2026-11-16', host: 'node-1', pid: 42 }
  return { v: 1, id, ...names, startedAt: STARTED, ...parts, ...change }
}

/** The id and state of each listed process. */
async function shown(fleet: Fleet): Promise<string[]> {
  return (await fleet.list()).map(({ report, state }) => `${report.id} ${state}`)
}

const BAD_REPORTS: readonly (readonly [change: object, message: RegExp])[] = [
  [{ v: 2 }, /report\.v/],
  [{ id: '' }, /report\.id/],
  [{ id: 'a b' }, /report\.id/],
  [{ service: '' }, /report\.service/],
  [{ startedAt: Number.NaN }, /report\.startedAt/],
  [{ consumers: [{ ...CONSUMER, breaker: 'ajar' }] }, /consumers\[0\]\.breaker/],
  [{ consumers: [{ ...CONSUMER, failureRate: 2 }] }, /consumers\[0\]\.failureRate/],
  [{ sinks: [SINK, { ...SINK, buffered: -1 }] }, /sinks\[1\]\.buffered/],
]

/** What the port of the fleet promises. */
export function fleetTests(suite: StoreConformance): void {
  const it = inFleetWorld(suite)
  const itDurable = inFleetWorld(suite, 'durable')

  it('B17: a report is listed completely, and a later one replaces it', async ({ fleet, timing }) => {
    assert.deepEqual(await fleet.list(), [])
    await fleet.report(reportOf('a'), LONG_MS)
    const bare = reportOf('b', { version: undefined, release: undefined, consumers: [], sinks: [] })
    await fleet.report(bare, LONG_MS)
    const { version: _, release: __, ...rest } = bare
    assert.deepEqual(
      (await fleet.list()).map(({ report }) => report),
      [reportOf('a'), rest],
    )
    await fleet.report(reportOf('a', { consumers: [{ ...CONSUMER, breaker: 'open' }] }), LONG_MS)
    const [first] = await fleet.list()
    assert.equal(first?.report.consumers[0]?.breaker, 'open')
    assert.equal((await fleet.list()).length, 2)
    assert(Math.abs(first.seenAt - timing.now()) < LONG_MS)
    assert(first.silentMs >= 0 && first.silentMs < LONG_MS)
  })

  it('B17: processes are listed by service, start and id', async ({ fleet }) => {
    await fleet.report(reportOf('c'), LONG_MS)
    await fleet.report(reportOf('z', { service: 'mails' }), LONG_MS)
    await fleet.report(reportOf('a', { startedAt: STARTED + 1 }), LONG_MS)
    await fleet.report(reportOf('B'), LONG_MS)
    await fleet.report(reportOf('y', { service: 'Zoo' }), LONG_MS)
    assert.deepEqual(await shown(fleet), ['y alive', 'z alive', 'B alive', 'c alive', 'a alive'])
  })

  it('B17: a process without a report within its lease is gone, and alive after the next', async ({
    fleet,
    timing,
  }) => {
    await fleet.report(reportOf('a'), timing.delayMs)
    await fleet.report(reportOf('b'), LONG_MS)
    await timing.pass(timing.delayMs + 1)
    assert.deepEqual(await shown(fleet), ['a gone', 'b alive'])
    const [gone] = await fleet.list()
    assert(gone!.silentMs >= timing.delayMs)
    assert.deepEqual(gone!.report, reportOf('a'))
    await fleet.report(reportOf('a'), LONG_MS)
    assert.deepEqual(await shown(fleet), ['a alive', 'b alive'])
  })

  it('B17: a process that leaves is shown as left at once, until it reports again', async ({
    fleet,
    timing,
  }) => {
    await fleet.report(reportOf('a'), LONG_MS)
    await fleet.leave('a')
    await fleet.leave('unheard-of')
    assert.deepEqual(await shown(fleet), ['a left'])
    const [left] = await fleet.list()
    await timing.pass(2)
    await fleet.leave('a')
    assert.equal((await fleet.list())[0]?.seenAt, left?.seenAt)
    await fleet.report(reportOf('a'), LONG_MS)
    assert.deepEqual(await shown(fleet), ['a alive'])
  })

  it('B17: a clock that is set back keeps no process alive for that long', async world => {
    const { fleet, timing } = world
    const { clock } = world.fixture
    if (clock?.jump === undefined) return
    await fleet.report(reportOf('a'), timing.delayMs)
    clock.jump(-LONG_MS)
    assert.deepEqual(await shown(fleet), ['a gone'])
    assert.equal((await fleet.list())[0]?.silentMs, 0)
    await fleet.report(reportOf('a'), timing.delayMs)
    assert.deepEqual(await shown(fleet), ['a alive'])
    clock.jump(LONG_MS)
  })

  it('B17: a purge deletes processes that are not alive, and returns their number', async ({
    fleet,
    timing,
  }) => {
    await fleet.report(reportOf('gone'), timing.delayMs)
    await fleet.report(reportOf('left'), LONG_MS)
    await fleet.leave('left')
    await fleet.report(reportOf('alive'), LONG_MS)
    await timing.pass(timing.delayMs + 1)
    const [alive] = await fleet.list()
    assert.equal(await fleet.purge(0), 0)
    assert.equal(await fleet.purge(alive!.seenAt + LONG_MS), 2)
    assert.deepEqual(await shown(fleet), ['alive alive'])
    await assert.rejects(fleet.purge(Number.NaN), { code: 'LAZARET_OPTIONS_INVALID' })
  })

  it('B17: any text is kept as it is, and a thousand processes are listed', async ({ fleet }) => {
    const service = '"o\'clock"; -- ümläut \u{1f4ec} \0 half \ud800 back\\slash'
    const strange = reportOf('a', {
      service,
      host: '__proto__',
      consumers: [{ ...CONSUMER, channel: service }],
    })
    await fleet.report(strange, LONG_MS)
    assert.deepEqual((await fleet.list())[0]?.report, strange)
    const ids = Array.from({ length: 1_000 }, (_, index) => `id-${String(index).padStart(4, '0')}`)
    await Promise.all(ids.map(id => fleet.report(reportOf(id), LONG_MS)))
    const listed = (await fleet.list()).map(({ report }) => report.id)
    assert.deepEqual(
      listed.filter(id => id !== 'a'),
      ids,
    )
  })

  it('B17: an invalid report is refused, and the last one stays', async ({ fleet }) => {
    await fleet.report(reportOf('a'), LONG_MS)
    const code = 'LAZARET_OPTIONS_INVALID'
    for (const [change, message] of BAD_REPORTS)
      await assert.rejects(fleet.report({ ...reportOf('a'), ...change }, LONG_MS), { code, message })
    await assert.rejects(fleet.report(reportOf('a'), 0), { code, message: /leaseMs/ })
    assert.deepEqual((await fleet.list())[0]?.report, reportOf('a'))
  })

  it('B17: another process sees the report and the leaving', async world => {
    const { fleet } = world
    const other = (await world.openSecond()).fleet!
    await fleet.report(reportOf('a'), LONG_MS)
    await other.report(reportOf('b'), LONG_MS)
    assert.deepEqual(await shown(other), ['a alive', 'b alive'])
    await other.leave('a')
    assert.deepEqual(await shown(fleet), ['a left', 'b alive'])
  })

  it('F8: calls to the fleet after close reject as closed', async ({ fleet, store }) => {
    await store.close()
    const closed = { code: 'LAZARET_STORE_CLOSED' }
    await assert.rejects(fleet.report(reportOf('a'), LONG_MS), closed)
    await assert.rejects(fleet.leave('a'), closed)
    await assert.rejects(fleet.list(), closed)
    await assert.rejects(fleet.purge(0), closed)
  })

  itDurable('B17: reports survive a restart', async world => {
    await world.fleet.report(reportOf('a'), LONG_MS)
    await world.fleet.report(reportOf('b'), LONG_MS)
    await world.fleet.leave('b')
    const { fleet } = await world.reopen()
    assert.deepEqual(await shown(fleet!), ['a alive', 'b left'])
    assert.deepEqual((await fleet!.list())[0]?.report, reportOf('a'))
  })
}
