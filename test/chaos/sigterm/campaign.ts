import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Random } from '../../../src/core/random.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { drawKinds } from '../campaign/draw.ts'
import { Publisher } from '../campaign/publisher.ts'
import { RestartingProcess } from '../campaign/restarting-process.ts'
import { injectFaults, runInFolder } from '../campaign/steps.ts'
import { until } from '../campaign/wait.ts'
import { type BrokerPlace, placeAt } from './broker-under-test.ts'
import { collectFindings, type Findings } from './count.ts'
import { HandlerRuns } from './handler-runs.ts'
import { type CampaignOptions, CHANNEL, type Fault, LEASE_MS, SHARES } from './plan.ts'

const SCRIPT = fileURLToPath(new URL('consumer.ts', import.meta.url))
const STALL_MS = 400_000
/** Longer than any run, and than a delivery waits for a claim that was left to its lease. */
const QUIET_MS = LEASE_MS + 500
/** How often the consumers may begin again for what the last of them gave back. */
const LAST_ROUNDS = 5

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings & {
    /** Processes that a SIGTERM ended with anything but the exit code 0. */
    readonly failedEnds: number
  }
  readonly tookMs: number
  /** Deliveries that a closing consumer gave back. */
  readonly released: number
  /** Deliveries of handled events, refused by the ledger. */
  readonly skipped: number
}

/** Events flow while consumers get SIGTERM after SIGTERM; then it is counted what became of each. */
export function runCampaign(
  options: CampaignOptions,
  /** Of the RabbitMQ server. Without one the events are in a SQLite file. */
  url: string | undefined,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult> {
  return runInFolder(folder => new Campaign(options, url ?? folder, folder), tell)
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #place: BrokerPlace
  readonly #runs: HandlerRuns
  readonly #consumers: readonly RestartingProcess[]
  readonly #publisher: Publisher
  readonly #events: readonly LazaretEvent[]
  readonly #random: Random

  constructor(options: CampaignOptions, where: string, folder: string) {
    this.#options = options
    this.#place = placeAt(where)
    this.#runs = new HandlerRuns(join(folder, 'runs.db'))
    this.#consumers = Array.from(
      { length: options.consumers },
      (_, index) => new RestartingProcess(SCRIPT, where, folder, String(index)),
    )
    this.#publisher = new Publisher(this.#place.open())
    this.#random = seededRandom(options.seed + 3)
    const make = createFactory({ clock: systemClock, random: seededRandom(options.seed + 2) })
    this.#events = drawKinds(options, SHARES).map(kind => make.event({ channel: CHANNEL, payload: { kind } }))
  }

  async run(tell: (line: string) => void): Promise<CampaignResult> {
    await this.#place.prepare()
    await Promise.all(this.#consumers.map(consumer => consumer.begin()))
    const startedAt = systemClock.now()
    const publishing = this.#publisher.publish(this.#events, () => this.#runs.handled)
    await injectFaults(
      this.#options,
      () => this.#runs.handled,
      fault => this.#inject(fault),
      tell,
    )
    await publishing
    tell('no more signals; waiting until every event is handled or dead')
    const findings = await this.#finish(tell)
    return {
      options: this.#options,
      findings: { ...findings, failedEnds: this.#sum(({ failedEnds }) => failedEnds) },
      tookMs: systemClock.now() - startedAt,
      released: this.#sum(({ outcomes }) => outcomes.get('released') ?? 0),
      skipped: this.#sum(({ outcomes }) => outcomes.get('skipped') ?? 0),
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#consumers.map(consumer => consumer.end('SIGKILL')))
    await this.#publisher.close()
    this.#runs.close()
  }

  async #inject(fault: Fault): Promise<void> {
    if (fault === 'all') {
      await Promise.all(this.#consumers.map(consumer => consumer.end().then(() => consumer.begin())))
      return
    }
    const consumer = this.#consumers[Math.floor(this.#random() * this.#consumers.length)]!
    if (fault === 'two') await consumer.endWithTwoSignals()
    else await consumer.end()
    if (fault === 'starting') await consumer.endWhileStarting()
    await consumer.begin()
  }

  /**
   * A broker does not tell of events in the hands of a consumer, so those are seen only when it has ended. What it gave back
   * then is for consumers that begin again.
   */
  async #finish(tell: (line: string) => void): Promise<Findings> {
    for (let round = 1; ; round++) {
      const isDrained = await this.#drained()
      if (!isDrained) tell('the channel still has events')
      await Promise.all(this.#consumers.map(consumer => consumer.end()))
      const findings = await collectFindings(this.#place, this.#events, this.#runs)
      if (!isDrained || findings.left === 0 || round === LAST_ROUNDS) return findings
      tell(`the last consumers returned ${findings.left} events; starting the consumers again`)
      await Promise.all(this.#consumers.map(consumer => consumer.begin()))
    }
  }

  /**
   * Waits until every event is settled and only letters are left. Events that are missing by then are lost for good:
   * the report counts them.
   */
  #drained(): Promise<boolean> {
    const isOver = async () => {
      const { lost, left } = await collectFindings(this.#place, this.#events, this.#runs)
      // An event whose effect outlived the grace time runs again in another consumer, which must settle it.
      return lost === 0 && left === 0 && systemClock.now() - this.#runs.changedAt > QUIET_MS
    }
    return until(isOver, () => 'every event is handled or dead', STALL_MS).then(
      () => true,
      () => false,
    )
  }

  #sum(of: (consumer: RestartingProcess) => number): number {
    return this.#consumers.reduce((total, consumer) => total + of(consumer), 0)
  }
}
