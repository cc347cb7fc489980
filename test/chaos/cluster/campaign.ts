import { join } from 'node:path'
import type { DeadLetter } from '../../../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Random } from '../../../src/core/random.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { drawKinds } from '../campaign/draw.ts'
import { Effects } from '../campaign/effects.ts'
import { Publisher } from '../campaign/publisher.ts'
import { RestartingProcess } from '../campaign/restarting-process.ts'
import { injectFaults, runInFolder } from '../campaign/steps.ts'
import { pause, untilStill } from '../campaign/wait.ts'
import { collectFindings, type Findings } from './count.ts'
import { type CampaignOptions, CHANNEL, type CommonFault, HANDLER, KEYS, SHARES } from './plan.ts'

/** A campaign that stands still for so long says what is missing, and ends. */
const STILL_MS = 240_000
const GUEST_MS = 3_000
const OPERATOR_MS = 1_000

interface ServerUnderTest {
  start(): Promise<void>
  stop(): Promise<void>
  kill(): Promise<void>
}

/** What a campaign needs to know of one kind of server. */
export interface ClusterUnderTest<F extends string> {
  readonly nodes: readonly ServerUnderTest[]
  readonly broker: Broker & Required<Pick<Broker, 'unblockKey'>>
  /** The program of a consumer, and the address of the cluster for it. SIGUSR2 cuts its connections. */
  readonly consumer: { readonly script: string; readonly address: string }
  /** The event id of every letter on the cluster. */
  letters(): Promise<readonly DeadLetter[]>
  /** How many events wait on the cluster. */
  depth(): Promise<number>
  /** A fault that only this kind of server has. */
  inject(fault: F, any: <T>(items: readonly T[]) => T): Promise<void>
  /** Says where the events are that are neither handled nor dead. For a campaign that stands still. */
  findMissing(events: readonly LazaretEvent[], isOver: (id: string) => boolean): Promise<readonly string[]>
  close(): Promise<void>
}

export interface CampaignResult<F extends string = never> {
  readonly options: CampaignOptions<F>
  /** The number of servers. */
  readonly nodes: number
  readonly findings: Findings
  readonly tookMs: number
  /** Deliveries of handled events, refused by the ledger. */
  readonly skipped: number
  readonly publishedAgain: number
  /** Where the events are that are neither handled nor dead, if the campaign stood still. */
  readonly missing: readonly string[]
}

/** Events flow while consumers and servers die, join, leave and are cut off; then it is counted what became of each. */
export function runCampaign<F extends string>(
  options: CampaignOptions<F>,
  cluster: ClusterUnderTest<F>,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult<F>> {
  return runInFolder(folder => new Campaign(options, cluster, folder), tell)
}

class Campaign<F extends string> {
  readonly #options: CampaignOptions<F>
  readonly #cluster: ClusterUnderTest<F>
  readonly #effects: Effects
  readonly #consumers: readonly RestartingProcess[]
  readonly #guest: RestartingProcess
  readonly #publisher: Publisher
  readonly #events: readonly LazaretEvent[]
  readonly #random: Random
  /** The deaths that the operator has decided about. */
  readonly #decided = new Set<string>()
  /** The processes that were killed. */
  readonly #killed = new Set<number>()
  #isOver = false

  constructor(options: CampaignOptions<F>, cluster: ClusterUnderTest<F>, folder: string) {
    this.#options = options
    this.#cluster = cluster
    this.#effects = new Effects(join(folder, 'effects.db'))
    const { script, address } = cluster.consumer
    const process = () => new RestartingProcess(script, address, options.ordering, folder)
    this.#consumers = Array.from({ length: options.consumers }, process)
    this.#guest = process()
    this.#publisher = new Publisher(cluster.broker)
    this.#random = seededRandom(options.seed + 3)
    const make = createFactory({ clock: systemClock, random: seededRandom(options.seed + 2) })
    const keys = seededRandom(options.seed + 4)
    this.#events = drawKinds(options, SHARES).map(kind =>
      make.event({ channel: CHANNEL, key: `key-${Math.floor(keys() * KEYS)}`, payload: { kind } }),
    )
  }

  async run(tell: (line: string) => void): Promise<CampaignResult<F>> {
    await this.#prepare()
    await Promise.all(this.#consumers.map(consumer => consumer.begin()))
    const startedAt = systemClock.now()
    let isPublished = false
    const publishing = this.#publisher.publish(this.#events, () => this.#effects.count)
    void publishing.then(() => {
      isPublished = true
    })
    const operating = this.#unblockDead()
    await injectFaults<CommonFault | F>(
      this.#options,
      () => this.#effects.count,
      fault => this.#inject(fault),
      tell,
    ).catch(async (error: Error) => {
      throw new Error([error.message, ...(await this.#missing())].join('\n'))
    })
    await this.#moves(() => isPublished)
    tell('no more faults; waiting until every event is handled or dead')
    const { findings, missing } = await this.#settle()
    for (const line of missing) tell(line)
    const tookMs = systemClock.now() - startedAt
    this.#isOver = true
    await operating
    await Promise.all(this.#consumers.map(consumer => consumer.end()))
    const skipped = this.#consumers.reduce((sum, { outcomes }) => sum + (outcomes.get('skipped') ?? 0), 0)
    const publishedAgain = this.#publisher.again
    const nodes = this.#cluster.nodes.length
    return { options: this.#options, nodes, findings, tookMs, skipped, publishedAgain, missing }
  }

  async close(): Promise<void> {
    this.#isOver = true
    await Promise.all([...this.#consumers, this.#guest].map(consumer => consumer.end('SIGKILL')))
    await this.#publisher.close()
    await this.#cluster.close()
    this.#effects.close()
  }

  /** The first subscription creates the topics or streams. */
  async #prepare(): Promise<void> {
    const { ordering } = this.#options
    const options = { channel: CHANNEL, handler: HANDLER, prefetch: 1, ordering } as const
    await (await this.#cluster.broker.subscribe(options, () => {})).close()
  }

  async #inject(fault: CommonFault | F): Promise<void> {
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
        const node = this.#any(this.#cluster.nodes)
        await node.kill()
        return node.start()
      }
      case 'rolling':
        for (const node of this.#cluster.nodes) {
          await node.stop()
          await node.start()
        }
        return
      default:
        return this.#cluster.inject(fault as F, items => this.#any(items))
    }
  }

  /** A person decides about every death as soon as its letter says it, and once. */
  async #unblockDead(): Promise<void> {
    while (!this.#isOver && this.#options.ordering === 'by-key') {
      await pause(OPERATOR_MS)
      try {
        for (const { event, cycle } of await this.#cluster.letters()) {
          // After a crash an event can die again, and then blocks its key again.
          const death = `${event.id} ${cycle.lastFailedAt}`
          if (this.#decided.has(death)) continue
          await this.#cluster.broker.unblockKey(CHANNEL, event.id, HANDLER)
          this.#decided.add(death)
        }
      } catch {
        // A server is away. The next round does it.
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
  async #settle(): Promise<Pick<CampaignResult, 'findings' | 'missing'>> {
    const left = () => this.#cluster.depth()
    const isOver = async () => {
      const { size } = new Set(await this.#letterIds())
      return this.#effects.count + size >= this.#events.length && (await left()) === 0
    }
    // Events that are missing by then are lost for good: the report counts them.
    const isSettled = await this.#moves(() => isOver().catch(() => false))
    const missing = isSettled ? [] : await this.#missing()
    const counted = collectFindings(this.#events, this.#effects, await this.#letterIds(), this.#killed)
    return { findings: { ...counted, left: await left() }, missing }
  }

  async #letterIds(): Promise<readonly string[]> {
    return (await this.#cluster.letters()).map(({ event }) => event.id)
  }

  async #missing(): Promise<readonly string[]> {
    const over = new Set([...this.#effects.ids(), ...(await this.#letterIds())])
    return await this.#cluster.findMissing(this.#events, id => over.has(id))
  }
}
