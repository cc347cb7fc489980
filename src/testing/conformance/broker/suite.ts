import type { BrokerCapabilities, StallPlace } from '../../../ports/broker.ts'
import { type TestFunction, type TestIn, testsIn, unlessDeclared } from '../harness.ts'
import { type BrokerFixture, BrokerWorld } from './world.ts'

/** What `brokerConformance()` needs to test a broker. */
export interface BrokerConformance {
  readonly test: TestFunction
  /** A fresh broker for every test. */
  readonly setup: () => Promise<BrokerFixture>
  /** What the broker says of itself. What it cannot do is skipped, with the reason in the test's name. */
  readonly declares: BrokerCapabilities
  /** The fixture has `publishRaw`: messages of other programs can be sent. */
  readonly canPublishRaw?: boolean | undefined
  /** The fixture has `keptLetters`: the broker's own dead letters can be looked at. */
  readonly canReadLetters?: boolean | undefined
  /** What can go wrong behind this broker. */
  readonly faults?: readonly BrokerFault[] | undefined
}

/**
 * Something that goes wrong behind a broker: what it uses is deleted, filled or forbidden on the server, while events flow.
 * Each adapter names those that it can have.
 */
export interface BrokerFault {
  readonly name: string
  /** Makes it so, without the adapter. The channel and handler are those that events flow through. */
  inject(target: FaultTarget): Promise<void>
  /** `automatic`: the broker repairs it without help. `after-undo`: the broker works again after `undo`. */
  readonly recovery: 'automatic' | 'after-undo'
  undo?(target: FaultTarget): Promise<void>
  /** What the subscriber is told of while it lasts; undefined when it may be repaired before anybody need be told. */
  readonly reports?: StallPlace | undefined
  /** Events that were published before it are lost with what was deleted, and nobody can bring them back. */
  readonly losesEvents?: boolean | undefined
  /** Publishing is refused while it lasts, with an error that says what to do. */
  readonly refusesPublishing?: boolean | undefined
}

/** The subscription that a test makes fail. */
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
