import assert from 'node:assert/strict'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { RejectedItem, Sink } from '../../ports/sink.ts'
import { rejectedItems } from '../../runtime/dispatcher/write/sink-answer.ts'
import { type TestFunction, type Timing, testsIn, World } from './harness.ts'

/**
 * The objects that an adapter gives the suite for each test: a sink, and control over its receiver, to read it and to
 * make it fail.
 */
export interface SinkFixture extends Timing {
  readonly sink: Sink
  /** The ids of the events that the receiver has accepted, in order, repeated ones included. */
  received(): Promise<readonly string[]>
  /** From now on the receiver fails every request, until it is told to recover. */
  setFailing?(isFailing: boolean): void
  /** From now on the receiver accepts requests and never answers. */
  hang?(): void
  /** From now on the receiver refuses these events and accepts the others. */
  refuse?(ids: readonly string[]): void
  cleanup?(): Promise<void>
}

/** What `sinkConformance()` needs to test a sink. */
export interface SinkConformance {
  readonly test: TestFunction
  readonly setup: () => Promise<SinkFixture>
  /** The ways in which the fixture can make the receiver misbehave. */
  readonly declares: { readonly setFailing: boolean; readonly hang: boolean; readonly refuse: boolean }
  /** Events in the largest batch; fewer where every event is expensive for the receiver [500]. */
  readonly many?: number | undefined
}

const MANY = 500

/** One test's view of a sink and its receiver. */
class SinkWorld extends World<Sink, SinkFixture> {
  get sink(): Sink {
    return this.port
  }

  /** Writes a batch that is never aborted. An answer that a lane would not understand fails the test. */
  async write(batch: readonly LazaretEvent[]): Promise<readonly RejectedItem[]> {
    return rejectedItems('under test', await this.sink.write(batch, { signal: never() }), batch.length)
  }

  async assertReceived(events: readonly LazaretEvent[]): Promise<void> {
    const ids = events.map(({ id }) => id)
    assert.deepEqual(await this.fixture.received(), ids)
  }
}

/** Every sentence of the sink port's contract, as tests. */
export function sinkConformance({ test, setup, declares, many = MANY }: SinkConformance): void {
  const open = async () => {
    const fixture = await setup()
    return new SinkWorld(fixture, fixture.sink)
  }
  const ifCan = (what: keyof typeof declares) =>
    testsIn(test, open, declares[what] ? undefined : `the fixture has no ${what}`)
  const it = testsIn(test, open)
  const itFailing = ifCan('setFailing')

  it('E17: when a write resolves, the receiver has the batch, in order', async world => {
    const batch = world.make.events(3)
    assert.deepEqual(await world.write(batch), [])
    await world.assertReceived(batch)
  })

  it('E17: single events, large batches and consecutive batches arrive', async world => {
    const batches = [1, many, 2].map(count => world.make.events(count))
    for (const batch of batches) assert.deepEqual(await world.write(batch), [])
    await world.assertReceived(batches.flat())
  })

  it('E17: a batch that is written twice arrives at least once', async world => {
    const batch = world.make.events(3)
    await world.write(batch)
    await world.write(batch)
    const ids = await world.fixture.received()
    for (const event of batch) assert(ids.includes(event.id))
  })

  it('E17: an aborted signal prevents the write', async ({ sink, fixture, make }) => {
    await assert.rejects(async () => sink.write(make.events(2), { signal: AbortSignal.abort() }))
    assert.deepEqual(await fixture.received(), [])
  })

  it('E18: a probe of a sink whose receiver works resolves and writes nothing', async ({ sink, fixture }) => {
    await sink.probe?.({ signal: never() })
    assert.deepEqual(await fixture.received(), [])
  })

  it('E17: closing twice is safe', async ({ sink }) => {
    await sink.close?.()
    await sink.close?.()
  })

  itFailing(
    'E17: a batch that failed as a whole throws, and can be written after a recovery',
    async world => {
      const { sink, fixture } = world
      const batch = world.make.events(2)
      fixture.setFailing!(true)
      await assert.rejects(async () => sink.write(batch, { signal: never() }))
      fixture.setFailing!(false)
      assert.deepEqual(await world.write(batch), [])
      await world.assertReceived(batch)
    },
  )

  itFailing('E18: a probe throws while the receiver fails, and resolves after a recovery', async world => {
    const { sink, fixture } = world
    if (sink.probe === undefined) return
    fixture.setFailing!(true)
    await assert.rejects(async () => sink.probe?.({ signal: never() }))
    fixture.setFailing!(false)
    await sink.probe({ signal: never() })
  })

  ifCan('hang')('E17: a write under way stops when its signal aborts', async world => {
    const { sink, fixture, make, timing } = world
    fixture.hang!()
    const controller = new AbortController()
    let outcome = 'pending'
    sink.write(make.events(1), { signal: controller.signal }).then(
      () => (outcome = 'written'),
      () => (outcome = 'stopped'),
    )
    await timing.quiet()
    assert.equal(outcome, 'pending')
    controller.abort()
    await timing.eventually(() => outcome === 'stopped', 'the write to stop')
  })

  ifCan('refuse')(
    'E17: events that the receiver refuses are named, and the others are written',
    async world => {
      const [first, second, third, fourth] = world.make.events(4)
      world.fixture.refuse!([second!.id, fourth!.id])
      const rejected = await world.write([first!, second!, third!, fourth!])
      assert.deepEqual(rejected.map(item => item.index).sort(), [1, 3])
      assert(rejected.every(item => item.error !== undefined))
      await world.assertReceived([first!, third!])
    },
  )
}

function never(): AbortSignal {
  return new AbortController().signal
}
