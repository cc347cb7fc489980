import { hostname } from 'node:os'
import process from 'node:process'
import type { Clock } from '../../ports/clock.ts'
import type { Instance, ReportedConsumer } from '../../ports/fleet.ts'
import type { Federation } from './federation.ts'
import { SingleFlight } from './single-flight.ts'

/** Processes report every 5 s, so an answer of this age is as good as a new one. */
const MAX_AGE_MS = 2_000

/** A process that reports to a store. */
export interface StoreInstance extends Instance {
  readonly store: string
}

/** A consumer in a living process other than this one. */
export interface RemoteConsumer extends ReportedConsumer {
  readonly process: StoreInstance
}

/** Reads the processes that report to the stores. Callers share an answer, so many of them cost no more than one. */
export class FleetReader {
  readonly #instances: SingleFlight<readonly StoreInstance[]>

  constructor(stores: Federation, clock: Clock) {
    this.#instances = new SingleFlight(clock, MAX_AGE_MS, () => listInstances(stores))
  }

  /** The processes of every store that answers. It never rejects. */
  instances(): Promise<readonly StoreInstance[]> {
    return this.#instances.get()
  }

  /** The consumers of all living processes. Those of this process are left out, because the server knows them better. */
  async remoteConsumers(): Promise<readonly RemoteConsumer[]> {
    const living = (await this.instances()).filter(each => each.state === 'alive' && !isThisProcess(each))
    return living.flatMap(each => each.report.consumers.map(consumer => ({ ...consumer, process: each })))
  }
}

async function listInstances(stores: Federation): Promise<readonly StoreInstance[]> {
  const answers = await stores
    .each(async ({ store }) => (await store.fleet?.list()) ?? [])
    .catch(() => undefined)
  return answers?.found.flatMap(({ name, value }) => value.map(each => ({ ...each, store: name }))) ?? []
}

function isThisProcess({ report: { host, pid } }: Instance): boolean {
  return pid === process.pid && host === hostname()
}
