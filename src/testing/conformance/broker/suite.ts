import type { BrokerCapabilities, StalledPart } from '../../../ports/broker.ts'
import { type TestFunction, type TestIn, testsIn, unlessDeclared } from '../harness.ts'
import { type BrokerFixture, BrokerWorld } from './world.ts'

/** What `brokerConformance()` needs to test a broker. */
export interface BrokerConformance {
  readonly test: TestFunction
  /** A fresh broker for every test. */
  readonly setup: () => Promise<BrokerFixture>
  /** The declared capabilities. Tests of missing capabilities are skipped, with the reason in their names. */
  readonly declares: BrokerCapabilities
  /** The fixture has `publishRaw`, which sends messages of other programs. */
  readonly canPublishRaw?: boolean | undefined
  /** The fixture has `keptLetters`, which reads the broker's own dead letters. */
  readonly canReadLetters?: boolean | undefined
  /** The subscriptions of a handler share partitions and not single events: one without a partition gets nothing. */
  readonly sharesPartitions?: boolean | undefined
  /** The faults that the server of this broker can have. */
  readonly faults?: readonly BrokerFault[] | undefined
}

/**
 * Damage on the server of a broker while events flow: a deleted, full or forbidden object. Each adapter lists the
 * faults that its server can have.
 */
export interface BrokerFault {
  readonly name: string
  /** Causes the fault without the adapter, for the channel and handler of the test. */
  inject(target: FaultTarget): Promise<void>
  /** `automatic`: the broker repairs it without help. `after-undo`: the broker works again after `undo`. */
  readonly recovery: 'automatic' | 'after-undo'
  undo?(target: FaultTarget): Promise<void>
  /**
   * The place that the broker reports to the subscriber; undefined if the broker may repair the fault before a report.
   */
  readonly reports?: StalledPart | undefined
  /** Events that were published before the fault are lost with the deleted object. */
  readonly losesEvents?: boolean | undefined
  /** The broker refuses to publish during the fault, with an error that names a remedy. */
  readonly refusesPublishing?: boolean | undefined
}

/** The channel and handler of the test. */
export interface FaultTarget {
  readonly channel: string
  readonly handler: string
}

/** Tests that only a broker with these capabilities has to pass. */
export function inWorldWith(
  suite: BrokerConformance,
  ...capabilities: readonly (keyof BrokerCapabilities)[]
): TestIn<BrokerWorld> {
  return inWorld(suite, unlessDeclared(suite.declares, ...capabilities))
}

/** Defines tests of a broker that each run in a world of their own. */
export function inWorld({ test, setup }: BrokerConformance, skipBecause?: string): TestIn<BrokerWorld> {
  return testsIn(test, async () => new BrokerWorld(await setup()), skipBecause)
}
