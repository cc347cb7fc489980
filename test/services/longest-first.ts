import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, the longest first, by what the whole run takes on two cores. A run that starts with them
 * keeps all workers busy to the end. A clean clone has no recorded times. A file that is not listed is short or new.
 */
export const LONGEST = [
  'test/console/layout.e2e.test.ts',
  'test/fleet/shop.e2e.test.ts',
  'test/console/services.e2e.test.ts',
  'test/chaos/rabbitmq-campaign.int.test.ts',
  'test/fleet/servers.e2e.test.ts',
  'src/adapters/postgres/conformance-newest.int.test.ts',
  'src/adapters/rabbitmq/conformance.int.test.ts',
  'src/adapters/postgres/conformance.int.test.ts',
  'test/fleet/deliverers.e2e.test.ts',
  'test/chaos/rabbitmq.int.test.ts',
  'test/chaos/fleet-campaign.int.test.ts',
  'test/cli.e2e.test.ts',
  'src/adapters/redis/conformance.int.test.ts',
  'test/chaos/rabbitmq-order.int.test.ts',
  'src/adapters/redis/broker/hardships.int.test.ts',
  'test/console/outage.e2e.test.ts',
  'test/console/actions.e2e.test.ts',
  'test/fleet/gates.e2e.test.ts',
  'test/chaos/sigterm-campaign.int.test.ts',
  'test/demo.e2e.test.ts',
  'test/console/lists.e2e.test.ts',
  'src/adapters/redis/broker/conformance.int.test.ts',
  'test/chaos/outbox-campaign.int.test.ts',
  'test/console/channels.e2e.test.ts',
  'test/console/keyboard.e2e.test.ts',
  'test/console/hostile.e2e.test.ts',
  'test/console/story.e2e.test.ts',
  'src/adapters/rabbitmq/silence.int.test.ts',
  'test/crash/sqlite-crash.int.test.ts',
  'test/retry-limit.int.test.ts',
  'test/chaos/limits.int.test.ts',
  'test/console/sign-in.e2e.test.ts',
  'test/watching/alerting.int.test.ts',
  'test/examples/pages.int.test.ts',
  'test/chaos/outage.int.test.ts',
  'test/console/roles.e2e.test.ts',
  'src/adapters/redis/hardships.int.test.ts',
  'test/examples/order-service.int.test.ts',
  'test/examples/profile-service.int.test.ts',
  'test/chaos/redis-campaign.int.test.ts',
  'test/fleet/fleet.e2e.test.ts',
  'src/adapters/rabbitmq/faults.int.test.ts',
  'test/docs/run.test.ts',
  'test/bench/fleet.int.test.ts',
  'test/console/bulk.e2e.test.ts',
  'test/chaos/rabbitmq-crash.int.test.ts',
  'test/console/states.e2e.test.ts',
  'test/console/filters.e2e.test.ts',
  'test/sim.test.ts',
  'test/docs/compile.test.ts',
  'test/docs/links.test.ts',
  'src/cli/verbs/serve-collecting.int.test.ts',
  'test/crash/file-crash.int.test.ts',
  'src/adapters/rabbitmq/letters/collector.int.test.ts',
  'test/tutorial.e2e.test.ts',
  'test/deploy/runbooks.int.test.ts',
  'src/adapters/rabbitmq/letter-queues.int.test.ts',
  'test/crash/replay-crash.int.test.ts',
  'test/console/watching.e2e.test.ts',
  'test/crash/tracking-crash.int.test.ts',
  'src/adapters/sqlite/sqlite.test.ts',
  'src/runtime/user-functions/user-functions.test.ts',
  'src/adapters/file/conformance.test.ts',
  'src/adapters/sqlite/letters/letters.test.ts',
  'src/testing/conformance/restarts.test.ts',
  'src/adapters/sqlite/broker/faults.test.ts',
  'src/demo/history/simulate-history.test.ts',
  'src/cli/stores.test.ts',
  'src/adapters/sqlite/store.test.ts',
] as const

const rankOf = new Map<string, number>(LONGEST.map((path, rank) => [path, rank]))

/** Those that run alone, then those that share a worker, so that one worker gets many of them. The longest first in both. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = rankOf.get(relative(root, moduleId)) ?? LONGEST.length
      return project.config.isolate ? place : LONGEST.length + 1 + place
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}
