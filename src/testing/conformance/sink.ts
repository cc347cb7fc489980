import assert from 'node:assert/strict'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { RejectedItem, Sink } from '../../ports/sink.ts'
import { rejectedItems } from '../../runtime/dispatcher/write/sink-answer.ts'
import { freshFactory, type TestFunction, TestTiming, type Timing, testUnless } from './harness.ts'

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

/** Every sentence of the sink port's contract, as tests. */
export function sinkConformance({ test, setup, declares, many = MANY }: SinkConformance): void {
  const inWorld =
    (define: ReturnType<typeof testUnless>) =>
    (
      name: string,
      run: (
        fixture: SinkFixture,
        events: (count: number) => LazaretEvent[],
        timing: TestTiming,
      ) => Promise<void>,
    ) =>
      define(name, async () => {
        const fixture = await setup()
        const timing = new TestTiming(fixture)
        const make = freshFactory(timing)
        try {
          await run(fixture, count => make.events(count), timing)
        } finally {
          await fixture.sink.close?.()
          await fixture.cleanup?.()
        }
      })
  const unless = (can: boolean, what: string) =>
    inWorld(testUnless(test, can ? undefined : `the fixture has no ${what}`))
  const it = unless(true, '')
  const itFailing = unless(declares.setFailing, 'setFailing')
  const itHanging = unless(declares.hang, 'hang')
  const itRefusing = unless(declares.refuse, 'refuse')

  it('E17: when a write resolves, the receiver has the batch, in order', async ({
    sink,
    received,
  }, events) => {
    const batch = events(3)
    assertAllTaken(await sink.write(batch, { signal: never() }))
    assert.deepEqual(await received(), idsOf(batch))
  })

  it('E17: batches of one, of many, and one after the other', async ({ sink, received }, events) => {
    const batches = [events(1), events(many), events(2)]
    for (const batch of batches) assertAllTaken(await sink.write(batch, { signal: never() }))
    assert.deepEqual(await received(), idsOf(batches.flat()))
  })

  it('E17: the same batch may be written again: duplicates, never a gap', async ({
    sink,
    received,
  }, events) => {
    const batch = events(3)
    await sink.write(batch, { signal: never() })
    await sink.write(batch, { signal: never() })
    const ids = await received()
    for (const event of batch) assert(ids.includes(event.id))
  })

  it('E17: with a signal that is aborted already nothing is written', async ({ sink, received }, events) => {
    await assert.rejects(async () => sink.write(events(2), { signal: AbortSignal.abort() }))
    assert.deepEqual(await received(), [])
  })

  it('E18: a probe of a sink that is well resolves and writes nothing', async ({ sink, received }) => {
    await sink.probe?.({ signal: never() })
    assert.deepEqual(await received(), [])
  })

  it('E17: closing twice is safe', async ({ sink }) => {
    await sink.close?.()
    await sink.close?.()
  })

  itFailing(
    'E17: a batch that failed as a whole throws, and can be written when the receiver has recovered',
    async (fixture, events) => {
      const { sink, received } = fixture
      const batch = events(2)
      fixture.setFailing!(true)
      await assert.rejects(async () => sink.write(batch, { signal: never() }))
      fixture.setFailing!(false)
      assertAllTaken(await sink.write(batch, { signal: never() }))
      assert.deepEqual(await received(), idsOf(batch))
    },
  )

  itFailing(
    'E18: a probe throws while the receiver fails, and resolves when it has recovered',
    async fixture => {
      const { sink } = fixture
      if (sink.probe === undefined) return
      fixture.setFailing!(true)
      await assert.rejects(async () => sink.probe?.({ signal: never() }))
      fixture.setFailing!(false)
      await sink.probe({ signal: never() })
    },
  )

  itHanging('E17: a write under way stops when its signal aborts', async (fixture, events, timing) => {
    fixture.hang!()
    const controller = new AbortController()
    let outcome = 'pending'
    const written = fixture.sink.write(events(1), { signal: controller.signal }).then(
      () => 'written',
      () => 'stopped',
    )
    void written.then(became => {
      outcome = became
    })
    await timing.quiet()
    assert.equal(outcome, 'pending')
    controller.abort()
    await timing.eventually(() => outcome === 'stopped', 'the write to stop')
  })

  itRefusing(
    'E17: events that the receiver refuses are named, and the others are written',
    async (fixture, events) => {
      const batch = events(4)
      fixture.refuse!([batch[1]!.id, batch[3]!.id])
      const rejected = rejectedBy(await fixture.sink.write(batch, { signal: never() }), batch.length)
      assert.deepEqual(rejected.map(item => item.index).sort(), [1, 3])
      assert(rejected.every(item => item.error !== undefined))
      assert.deepEqual(await fixture.received(), idsOf([batch[0]!, batch[2]!]))
    },
  )
}

function never(): AbortSignal {
  return new AbortController().signal
}

function idsOf(events: readonly LazaretEvent[]): string[] {
  return events.map(event => event.id)
}

function assertAllTaken(answer: unknown): void {
  assert.deepEqual(rejectedBy(answer, Number.MAX_SAFE_INTEGER), [])
}

/** Read as a lane reads it: an answer that a lane would not understand fails the test. */
function rejectedBy(answer: unknown, batchSize: number): readonly RejectedItem[] {
  return rejectedItems('under test', answer, batchSize)
}
