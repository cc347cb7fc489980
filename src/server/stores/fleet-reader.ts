import { hostname } from 'node:os'
import process from 'node:process'
import type { Clock } from '../../ports/clock.ts'
import type { Instance, ReportedConsumer } from '../../ports/fleet.ts'
import type { StoreFault } from '../store-fault.ts'
import type { Federation } from './federation.ts'
import type { LocalConsumers } from './local-consumers.ts'
import { processesById } from './processes-by-id.ts'
import { SingleFlight } from './single-flight.ts'

/** Processes report every 5 s, so an answer of this age is as good as a new one. */
const MAX_AGE_MS = 2_000

/** A process that reports to a store. */
export interface StoreInstance extends Instance {
  readonly store: string
}

/** The processes of the stores that answered. */
interface FleetAnswer {
  readonly instances: readonly StoreInstance[]
  readonly faults: readonly StoreFault[]
}

/** A consumer in a living process that the server does not control directly. */
export interface RemoteConsumer extends ReportedConsumer {
  readonly process: StoreInstance
  /** The id of the process. */
  readonly processId: string
}

/** Reads the processes that report to the stores. Callers share an answer, so many of them cost no more than one. */
export class FleetReader {
  readonly #answer: SingleFlight<FleetAnswer>
  readonly #stores: Federation
  readonly #local: LocalConsumers

  constructor(stores: Federation, local: LocalConsumers, clock: Clock) {
    this.#answer = new SingleFlight(clock, MAX_AGE_MS, () => listInstances(stores))
    this.#stores = stores
    this.#local = local
  }

  /** The processes of every store that answers, for each store that they report to. Rejects only when no store answers. */
  list(): Promise<FleetAnswer> {
    return this.#answer.get()
  }

  /** Each process once, without faults. It never rejects. */
  async instances(): Promise<readonly StoreInstance[]> {
    const answer = await this.list().catch(() => undefined)
    return processesById(answer?.instances ?? [])
  }

  /** The stores whose processes cannot be read. It never rejects. */
  async unreadStores(): Promise<readonly string[]> {
    const answer = await this.list().catch(() => undefined)
    return (answer?.faults ?? this.#stores.all.map(({ name }) => ({ store: name }))).map(({ store }) => store)
  }

  /** The consumers of all living processes, except those that the server has itself: it knows them better. */
  async remoteConsumers(): Promise<readonly RemoteConsumer[]> {
    const living = (await this.instances()).filter(({ state }) => state === 'alive')
    return living.flatMap(each =>
      each.report.consumers
        .filter(consumer => !this.#isLocal(each, consumer))
        .map(consumer => ({ ...consumer, process: each, processId: each.report.id })),
    )
  }

  /** Whether the process reports a consumer of the channel that the server does not have itself. */
  hasRemote(instance: Instance, channel: string, handler: string | undefined): boolean {
    return instance.report.consumers.some(
      each =>
        each.channel === channel &&
        (handler ?? each.handler) === each.handler &&
        !this.#isLocal(instance, each),
    )
  }

  #isLocal(instance: Instance, { channel, handler }: ReportedConsumer): boolean {
    return isThisProcess(instance) && this.#local.of(channel, handler).length > 0
  }
}

async function listInstances(stores: Federation): Promise<FleetAnswer> {
  const { found, faults } = await stores.each(async ({ store }) => (await store.fleet?.list()) ?? [])
  const instances = found.flatMap(({ name, value }) => value.map(each => ({ ...each, store: name })))
  return { instances, faults }
}

/** Whether the report is one of this process, which the server runs in. */
export function isThisProcess({ report: { host, pid } }: Instance): boolean {
  return pid === process.pid && host === hostname()
}
