import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redisStreams } from '../../../src/adapters/redis/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Random } from '../../../src/core/random.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import type { RedisNode } from '../../services/redis-node.ts'
import { drawKinds } from '../campaign/draw.ts'
import { Effects } from '../campaign/effects.ts'
import { Publisher } from '../campaign/publisher.ts'
import { RestartingProcess } from '../campaign/restarting-process.ts'
import { countAtTheEnd, injectFaults, runInFolder } from '../campaign/steps.ts'
import { pause } from '../campaign/wait.ts'
import { collectFindings, type Findings } from './count.ts'
import {
  type CampaignOptions,
  CHANNEL,
  FAST_DETECTION,
  type Fault,
  LONGER_THAN_A_LEASE_MS,
  SHARES,
} from './plan.ts'

const SCRIPT = fileURLToPath(new URL('consumer.ts', import.meta.url))

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings
  readonly tookMs: number
  /** Deliveries of handled events, refused by the ledger. */
  readonly skipped: number
  readonly publishedAgain: number
}

/** Events flow while consumers and their server die and stand still; then it is counted what became of each. */
export function runCampaign(
  options: CampaignOptions,
  node: RedisNode,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult> {
  return runInFolder(folder => new Campaign(options, node, folder), tell)
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #node: RedisNode
  readonly #effects: Effects
  readonly #consumers: readonly RestartingProcess[]
  readonly #publisher: Publisher
  readonly #events: readonly LazaretEvent[]
  readonly #random: Random

  constructor(options: CampaignOptions, node: RedisNode, folder: string) {
    this.#options = options
    this.#node = node
    this.#effects = new Effects(join(folder, 'effects.db'))
    this.#consumers = Array.from(
      { length: options.consumers },
      () => new RestartingProcess(SCRIPT, node.url, folder),
    )
    this.#publisher = new Publisher(redisStreams({ url: node.url, ...FAST_DETECTION }))
    this.#random = seededRandom(options.seed + 3)
    const make = createFactory({ clock: systemClock, random: seededRandom(options.seed + 2) })
    this.#events = drawKinds(options, SHARES).map(kind => make.event({ channel: CHANNEL, payload: { kind } }))
  }

  async run(tell: (line: string) => void): Promise<CampaignResult> {
    await Promise.all(this.#consumers.map(consumer => consumer.begin()))
    const startedAt = systemClock.now()
    const publishing = this.#publisher.publish(this.#events, () => this.#effects.count)
    await injectFaults(
      this.#options,
      () => this.#effects.count,
      fault => this.#inject(fault),
      tell,
    )
    await publishing
    tell('no more faults; waiting until every event is handled or dead')
    const findings = await countAtTheEnd(() => collectFindings(this.#node.url, this.#events, this.#effects))
    const tookMs = systemClock.now() - startedAt
    await Promise.all(this.#consumers.map(consumer => consumer.end()))
    const skipped = this.#consumers.reduce((sum, { outcomes }) => sum + (outcomes.get('skipped') ?? 0), 0)
    return { options: this.#options, findings, tookMs, skipped, publishedAgain: this.#publisher.again }
  }

  async close(): Promise<void> {
    this.#node.thaw()
    await Promise.all(this.#consumers.map(consumer => consumer.end('SIGKILL')))
    await this.#publisher.close()
    this.#effects.close()
  }

  async #inject(fault: Fault): Promise<void> {
    switch (fault) {
      case 'kill':
        return this.#anyConsumer().kill()
      case 'hang':
        return this.#hang(this.#anyConsumer())
      case 'restart':
        await this.#node.kill()
        return this.#node.start()
      case 'freeze':
        this.#node.freeze()
        await pause(LONGER_THAN_A_LEASE_MS)
        return this.#node.thaw()
      case 'cut':
        await this.#node.command('CLIENT', 'KILL', 'TYPE', 'normal')
    }
  }

  async #hang(consumer: RestartingProcess): Promise<void> {
    consumer.stop()
    await pause(LONGER_THAN_A_LEASE_MS)
    consumer.resume()
  }

  #anyConsumer(): RestartingProcess {
    return this.#consumers[Math.floor(this.#random() * this.#consumers.length)]!
  }
}
