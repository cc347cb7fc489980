import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type KafkaBroker, kafka } from '../../../src/adapters/kafka/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Random } from '../../../src/core/random.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import type { KafkaService } from '../../services/kafka.ts'
import { OutsideKafka } from '../../support/outside-kafka.ts'
import { drawKinds } from '../campaign/draw.ts'
import { Effects } from '../campaign/effects.ts'
import { Publisher } from '../campaign/publisher.ts'
import { RestartingProcess } from '../campaign/restarting-process.ts'
import { injectFaults, runInFolder } from '../campaign/steps.ts'
import { pause, untilStill } from '../campaign/wait.ts'
import { collectFindings, type Findings, lettersOf } from './count.ts'
import {
  type CampaignOptions,
  CHANNEL,
  FAST_DETECTION,
  type Fault,
  HANDLER,
  KEYS,
  PARTITIONS,
  SHARES,
} from './plan.ts'
import { findMissing } from './whereabouts.ts'

const SCRIPT = fileURLToPath(new URL('consumer.ts', import.meta.url))
/** A campaign that stands still for so long says what is missing, and ends. */
const STILL_MS = 240_000
const GUEST_MS = 3_000
const OPERATOR_MS = 1_000

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings
  readonly tookMs: number
  /** Deliveries of handled events, refused by the ledger. */
  readonly skipped: number
  readonly publishedAgain: number
}

/** Events flow while consumers and brokers die, join, leave and are cut off; then it is counted what became of each. */
export function runCampaign(
  options: CampaignOptions,
  service: KafkaService,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult> {
  return runInFolder(folder => new Campaign(options, service, folder), tell)
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #service: KafkaService
  readonly #effects: Effects
  readonly #consumers: readonly RestartingProcess[]
  readonly #guest: RestartingProcess
  readonly #broker: KafkaBroker
  readonly #outside: OutsideKafka
  readonly #publisher: Publisher
  readonly #events: readonly LazaretEvent[]
  readonly #random: Random
  /** The letters that the operator has decided about. */
  readonly #decided = new Set<string>()
  /** The processes that were killed. */
  readonly #killed = new Set<number>()
  #isOver = false

  constructor(options: CampaignOptions, service: KafkaService, folder: string) {
    this.#options = options
    this.#service = service
    this.#effects = new Effects(join(folder, 'effects.db'))
    const brokers = service.brokers.join(',')
    const process = () => new RestartingProcess(SCRIPT, brokers, options.ordering, folder)
    this.#consumers = Array.from({ length: options.consumers }, process)
    this.#guest = process()
    this.#broker = kafka({ brokers: service.brokers, partitions: PARTITIONS, ...FAST_DETECTION })
    this.#outside = new OutsideKafka(service.brokers)
    this.#publisher = new Publisher(this.#broker)
    this.#random = seededRandom(options.seed + 3)
    const make = createFactory({ clock: systemClock, random: seededRandom(options.seed + 2) })
    const keys = seededRandom(options.seed + 4)
    this.#events = drawKinds(options, SHARES).map(kind =>
      make.event({ channel: CHANNEL, key: `key-${Math.floor(keys() * KEYS)}`, payload: { kind } }),
    )
  }

  async run(tell: (line: string) => void): Promise<CampaignResult> {
    await this.#prepare()
    await Promise.all(this.#consumers.map(consumer => consumer.begin()))
    const startedAt = systemClock.now()
    let isPublished = false
    const publishing = this.#publisher.publish(this.#events, () => this.#effects.count)
    void publishing.then(() => {
      isPublished = true
    })
    const operating = this.#unblockDead()
    await injectFaults(
      this.#options,
      () => this.#effects.count,
      fault => this.#inject(fault),
      tell,
    ).catch(async (error: Error) => {
      throw new Error([error.message, ...(await this.#missing())].join('\n'))
    })
    await this.#moves(() => isPublished)
    tell('no more faults; waiting until every event is handled or dead')
    const findings = await this.#settle(tell)
    const tookMs = systemClock.now() - startedAt
    this.#isOver = true
    await operating
    await Promise.all(this.#consumers.map(consumer => consumer.end()))
    const skipped = this.#consumers.reduce((sum, { outcomes }) => sum + (outcomes.get('skipped') ?? 0), 0)
    return { options: this.#options, findings, tookMs, skipped, publishedAgain: this.#publisher.again }
  }

  async close(): Promise<void> {
    this.#isOver = true
    await Promise.all([...this.#consumers, this.#guest].map(consumer => consumer.end('SIGKILL')))
    await this.#publisher.close()
    await this.#outside.close()
    this.#effects.close()
  }

  /** The first subscription creates the topics. */
  async #prepare(): Promise<void> {
    const { ordering } = this.#options
    const options = { channel: CHANNEL, handler: HANDLER, prefetch: 1, ordering } as const
    await (await this.#broker.subscribe(options, () => {})).close()
  }

  async #inject(fault: Fault): Promise<void> {
    switch (fault) {
      case 'kill': {
        const consumer = this.#any(this.#consumers)
        this.#killed.add(consumer.pid)
        return consumer.kill()
      }
      case 'cut':
        process.kill(this.#any(this.#consumers).pid, 'SIGUSR2')
        return
      case 'rebalance':
        await this.#guest.begin()
        await pause(GUEST_MS)
        return this.#guest.end()
      case 'broker': {
        const node = this.#any(this.#service.nodes)
        await node.kill()
        return node.start()
      }
      case 'rolling':
        for (const node of this.#service.nodes) {
          await node.stop()
          await node.start()
        }
    }
  }

  /** A person decides about every letter as soon as it exists, and once. */
  async #unblockDead(): Promise<void> {
    while (!this.#isOver && this.#options.ordering === 'by-key') {
      await pause(OPERATOR_MS)
      try {
        for (const id of await lettersOf(this.#outside)) {
          if (this.#decided.has(id)) continue
          await this.#broker.unblockKey(CHANNEL, id, HANDLER)
          this.#decided.add(id)
        }
      } catch {
        // A broker is away. The next round does it.
      }
    }
  }

  #any<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!
  }

  #moves(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
    return untilStill(isSo, () => this.#effects.count, STILL_MS)
  }

  /** Until every event is somewhere, and nothing but letters is left on the cluster. */
  async #settle(tell: (line: string) => void): Promise<Findings> {
    const isOver = async () => {
      const { size } = new Set(await lettersOf(this.#outside))
      if (this.#effects.count + size < this.#events.length) return false
      return (await this.#broker.depth(CHANNEL, HANDLER)) === 0
    }
    // Events that are missing by then are lost for good: the report counts them.
    if (!(await this.#moves(() => isOver().catch(() => false))))
      for (const line of await this.#missing()) tell(line)
    return await collectFindings(this.#broker, this.#outside, this.#events, this.#effects, this.#killed)
  }

  async #missing(): Promise<readonly string[]> {
    const over = new Set([...this.#effects.ids(), ...(await lettersOf(this.#outside))])
    return await findMissing(this.#outside, this.#events, id => over.has(id))
  }
}
