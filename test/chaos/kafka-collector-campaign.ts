import { kafkaCollector } from '../../src/adapters/kafka/index.ts'
import { delay, systemClock } from '../../src/ports/clock.ts'
import { outputOf, start } from '../crash/child.ts'
import { OutsideKafka } from '../support/outside-kafka.ts'
import { bodyOf, collectUntil, countsOf, SCRIPT } from './collector-campaign.ts'

const PARTITIONS = 6
const BATCH = 1_000
const NAME = 'kafka'
const FINISH_MS = 120_000
const POLL_MS = 50

export interface KafkaCampaign {
  readonly brokers: readonly string[]
  /** The topic whose records failed; its dead letters are in `TOPIC.DLT`. */
  readonly topic: string
  readonly letters: number
  /** The database. */
  readonly path: string
  /** How often the collector is killed on its way. */
  readonly kills: number
}

export interface KafkaCampaignReport {
  readonly letters: number
  readonly kills: number
  /** Saved again after a kill, because their offsets had not been committed. */
  readonly savedTwice: number
  readonly missing: number
  readonly doubled: number
  /** Records that no committed offset covers. */
  readonly leftInTopic: number
  /** From the first record that came to the last letter that was durable; without kills only. */
  readonly perSecond: number | undefined
}

/** Fills a dead-letter topic as Spring Kafka does, and has it collected by a process that is killed on the way. */
export async function runKafkaCampaign(campaign: KafkaCampaign): Promise<KafkaCampaignReport> {
  const { brokers, topic, letters, kills, path } = campaign
  const source = `${topic}.DLT`
  await fill(campaign, source)
  const from = { url: `kafka://${brokers.join(',')}`, source, path }
  let saved = 0
  for (let kill = 1; kill <= kills; kill++)
    saved += (await collectUntil(from, Math.floor(letters / (kills + 1)), 'SIGKILL')).saved
  const before = await countsOf(path, letters)
  const last = await collectUntil(from, letters - before.distinct, 'SIGTERM')
  await finish(from, brokers)
  const left = await depthOf(brokers, source)
  const { distinct, total, missing } = await countsOf(path, letters)
  return {
    letters,
    kills,
    savedTwice: Math.max(0, saved + last.saved - distinct),
    missing,
    doubled: total - distinct,
    leftInTopic: left,
    perSecond: kills === 0 ? Math.round((last.saved * 1_000) / last.ms) : undefined,
  }
}

async function fill({ brokers, topic, letters }: KafkaCampaign, source: string): Promise<void> {
  const outside = new OutsideKafka(brokers)
  await outside.createTopic(source, PARTITIONS)
  const headers = [
    ['kafka_dlt-original-topic', topic],
    ['kafka_dlt-original-consumer-group', 'billing'],
    ['kafka_dlt-exception-fqcn', 'com.shop.OutOfStock'],
    ['kafka_dlt-exception-message', 'nothing left'],
  ].map(each => each.map(text => Buffer.from(text)) as [Buffer, Buffer])
  for (let order = 0; order < letters; order += BATCH) {
    const orders = Array.from({ length: Math.min(BATCH, letters - order) }, (_, index) => order + index)
    const partition = (order / BATCH) % PARTITIONS
    await outside.write(
      orders.map(each => ({ topic: source, partition, key: null, value: bodyOf(each), headers })),
    )
  }
  await outside.close()
}

/** Repeated letters count as saved too, so the last process may have been stopped before the end. */
async function finish(
  { url, source, path }: { readonly url: string; readonly source: string; readonly path: string },
  brokers: readonly string[],
): Promise<void> {
  const child = start(SCRIPT, url, source, path)
  const ended = outputOf(child)
  const until = systemClock.now() + FINISH_MS
  while ((await depthOf(brokers, source)) > 0 && systemClock.now() < until) await delay(systemClock, POLL_MS)
  child.kill('SIGTERM')
  await ended
}

async function depthOf(brokers: readonly string[], source: string): Promise<number> {
  const collector = kafkaCollector({ brokers, name: NAME, topics: [source] })
  const depths = await collector.depths()
  await collector.close()
  return depths.reduce((sum, { depth }) => sum + depth, 0)
}
