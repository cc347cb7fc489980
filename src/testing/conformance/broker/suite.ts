import type { BrokerCapabilities } from '../../../ports/broker.ts'
import { type TestFunction, testUnless } from '../harness.ts'
import { type BrokerFixture, World } from './world.ts'

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
}

/** Defines a test that runs in a world of its own, which is taken down whatever happens in it. */
export type InWorld = (name: string, run: (world: World) => Promise<void>) => void

export function inWorld({ test, setup }: BrokerConformance, skipBecause?: string): InWorld {
  const define = testUnless(test, skipBecause)
  return (name, run) =>
    define(name, async () => {
      const fixture = await setup()
      const world = new World(fixture)
      try {
        await run(world)
      } finally {
        await world.broker.close()
        await fixture.cleanup?.()
      }
    })
}
