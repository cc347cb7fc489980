import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type ChannelModel, connect } from 'amqplib'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { type Child, outputOf, start } from '../crash/child.ts'

/** The process that collects. */
export const SCRIPT = fileURLToPath(new URL('collector-process.ts', import.meta.url))
const BODY_BYTES = 256
const PAGE = 1_000
const SILENCE_MS = 60_000

export interface Campaign {
  readonly url: string
  /** The queue that fails; its dead letters are in `QUEUE.dlq`. */
  readonly queue: string
  readonly queueType: 'quorum' | 'classic'
  readonly letters: number
  /** The database. */
  readonly path: string
  /** How often the collector is killed on its way. */
  readonly kills: number
}

export interface CampaignReport {
  readonly letters: number
  readonly kills: number
  /** Saved again after a kill, because they had not been acknowledged. */
  readonly savedTwice: number
  readonly missing: number
  readonly doubled: number
  readonly leftInQueue: number
  /** From the first message that came to the last letter that was durable; without kills only. */
  readonly perSecond: number | undefined
}

/**
 * Fills a dead-letter queue as any program does it, by rejecting from a queue that has a dead-letter exchange, and has it
 * collected by a process that is killed on the way. Every other message has an id of its own.
 */
export async function runCampaign(campaign: Campaign): Promise<CampaignReport> {
  const { url, queue, letters, kills, path } = campaign
  const from = { url, source: `${queue}.dlq`, path }
  const connection = await connect(url)
  await fill(connection, campaign)
  let saved = 0
  for (let kill = 1; kill <= kills; kill++)
    saved += (await collectUntil(from, Math.floor(letters / (kills + 1)), 'SIGKILL')).saved
  const before = await countsOf(path, letters)
  const last = await collectUntil(from, letters - before.distinct, 'SIGTERM')
  await untilEmpty(connection, campaign)
  const { distinct, total, missing } = await countsOf(path, letters)
  const channel = await connection.createChannel()
  const { messageCount } = await channel.checkQueue(`${queue}.dlq`)
  await connection.close()
  return {
    letters,
    kills,
    savedTwice: Math.max(0, saved + last.saved - distinct),
    missing,
    doubled: total - distinct,
    leftInQueue: messageCount,
    perSecond: kills === 0 ? Math.round((last.saved * 1_000) / last.ms) : undefined,
  }
}

/** Rejected one and all, so that the server has moved them with nothing but `x-death` on them. */
async function fill(connection: ChannelModel, { queue, queueType, letters }: Campaign): Promise<void> {
  const channel = await connection.createConfirmChannel()
  const type = { 'x-queue-type': queueType }
  await channel.assertExchange(`${queue}.dead`, 'fanout', { durable: true })
  await channel.assertQueue(`${queue}.dlq`, { durable: true, arguments: type })
  await channel.bindQueue(`${queue}.dlq`, `${queue}.dead`, '')
  await channel.assertQueue(queue, {
    durable: true,
    arguments: { ...type, 'x-dead-letter-exchange': `${queue}.dead` },
  })
  for (let order = 0; order < letters; order++) {
    const id = order % 2 === 0 ? { messageId: `${queue}-${order}` } : {}
    const hasRoom = channel.publish('', queue, bodyOf(order), { persistent: true, ...id })
    if (!hasRoom) await once(channel, 'drain')
  }
  await channel.waitForConfirms()
  await channel.prefetch(1_000)
  let rejected = 0
  const all = Promise.withResolvers<void>()
  await channel.consume(queue, message => {
    if (message !== null) channel.nack(message, false, false)
    if (++rejected === letters) all.resolve()
  })
  await all.promise
  while ((await channel.checkQueue(`${queue}.dlq`)).messageCount < letters) await pause(20)
  await channel.close()
}

/** The value of a dead letter, of the same size for each. */
export function bodyOf(order: number): Buffer {
  const bare = JSON.stringify({ order, note: '' })
  return Buffer.from(JSON.stringify({ order, note: 'x'.repeat(BODY_BYTES - bare.length) }))
}

/** The process that collects, and how long it may say nothing. */
interface Collecting {
  readonly url: string
  /** The queue or topic of dead letters. */
  readonly source: string
  readonly path: string
  readonly script?: string
  readonly silenceMs?: number
}

/**
 * Answers how many letters it said that it has saved, and in what time. If letters were lost, it would wait for the rest of them
 * without end, so a collector that says nothing for long ends the campaign.
 */
export async function collectUntil(
  { url, source, path, script = SCRIPT, silenceMs = SILENCE_MS }: Collecting,
  count: number,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<Said> {
  const child: Child = start(script, url, source, path)
  // What it says comes by the hundred.
  const enough = Math.floor(count / 100) * 100
  let isSilent = false
  const giveUp = () => {
    isSilent = true
    child.kill('SIGKILL')
  }
  let cancel = systemClock.schedule(silenceMs, giveUp)
  const output = await outputOf(child, said => {
    cancel()
    cancel = systemClock.schedule(silenceMs, giveUp)
    if (lastOf(said).saved >= enough) child.kill(signal)
  })
  cancel()
  const said = lastOf(output)
  if (isSilent)
    throw new Error(
      `the collector saved ${said.saved} of ${enough} letters, and then none for ${silenceMs} ms`,
    )
  return said
}

interface Said {
  readonly saved: number
  readonly ms: number
}

function lastOf(output: string): Said {
  const [saved = 0, ms = 0] = (output.trimEnd().split('\n').at(-1) ?? '').split(' ').map(Number)
  return { saved, ms }
}

async function untilEmpty(connection: ChannelModel, campaign: Campaign): Promise<void> {
  const channel = await connection.createChannel()
  const { messageCount } = await channel.checkQueue(`${campaign.queue}.dlq`)
  await channel.close()
  if (messageCount === 0) return
  // Fewer than a hundred, or what a quorum queue had not noted as acknowledged.
  const child: Child = start(SCRIPT, campaign.url, `${campaign.queue}.dlq`, campaign.path)
  const ended = outputOf(child)
  const looking = await connection.createChannel()
  for (let looks = 0; looks < 500; looks++) {
    const { messageCount: ready, consumerCount } = await looking.checkQueue(`${campaign.queue}.dlq`)
    if (ready === 0 && consumerCount === 1) break
    await pause(20)
  }
  await looking.close()
  child.kill('SIGTERM')
  await ended
}

/** Which orders have a letter, and how many letters there are. */
export async function countsOf(
  path: string,
  letters: number,
): Promise<{ readonly total: number; readonly distinct: number; readonly missing: number }> {
  const store = openSqlite({ path })
  const orders = new Set<number>()
  let total = 0
  let cursor: string | undefined
  do {
    const page = await store.deadLetters.list({ limit: PAGE, cursor })
    total += page.letters.length
    for (const { event } of page.letters) orders.add((event.payload as { order: number }).order)
    cursor = page.cursor
  } while (cursor !== undefined)
  await store.close()
  return { total, distinct: orders.size, missing: letters - orders.size }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => systemClock.schedule(ms, resolve))
}
