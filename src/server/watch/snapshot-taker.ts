import { masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import { groupingOf } from '../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { DEFAULT_MASKS, type Masks } from '../../core/dead-letter/masks.ts'
import { type LetterState, WAITING_STATES } from '../../core/dead-letter/state.ts'
import type { WatchPolicy } from '../../core/watch/options.ts'
import type { DeadLetterStore, LetterFilter, LetterStats } from '../../ports/dead-letters.ts'
import type { ChannelSnapshot, ErrorShare } from '../../ports/snapshots.ts'
import { oldestOf, waitingStats } from '../stores/search-stats.ts'

/** Only the channels with the most letters have snapshots, because each costs several queries. */
const MAX_CHANNELS = 200
/** The sample sizes per channel and in total are limited, so that the cost does not grow with the store. */
const MAX_PER_CHANNEL = 1_000
const MIN_PER_CHANNEL = 50
const MAX_IN_TOTAL = 5_000
const HOUR_MS = 3_600_000

interface TakeOptions {
  readonly letters: DeadLetterStore
  /** Messages in dead-letter queues that are not letters yet, by channel. */
  readonly queues: ReadonlyMap<string, number>
  /** Channels that need a snapshot even without letters: their last one was not empty, or an alert is firing. */
  readonly required: readonly string[]
  readonly limitsOf: (channel: string) => Pick<WatchPolicy, 'ageMs' | 'ratePerHour'>
  readonly at: number
  /** Stops between two channels. */
  readonly signal: AbortSignal
}

interface SelectedChannel {
  readonly channel: string
  readonly waiting: readonly StateCount[]
  readonly count: number
  readonly queued: number
}

/** Samples by channel. The mark changes when letters arrive or leave. */
type SampleCache = Map<string, { readonly mark: string; readonly sample: Sample }>

/** Takes snapshots of a store, one channel after the other, so that the store can serve other callers in between. */
export class SnapshotTaker {
  /** Samples of the last round. A channel without changes reuses its sample. */
  #samples: SampleCache = new Map()
  readonly #masks: Masks

  constructor(masks: Masks = DEFAULT_MASKS) {
    this.#masks = masks
  }

  async take(options: TakeOptions): Promise<readonly ChannelSnapshot[]> {
    const selected = await selectChannels(options)
    const full = selected.filter(({ count }) => count > 0).length
    const limit = Math.max(
      MIN_PER_CHANNEL,
      Math.min(MAX_PER_CHANNEL, Math.floor(MAX_IN_TOTAL / Math.max(1, full))),
    )
    const snapshots: ChannelSnapshot[] = []
    const samples: SampleCache = new Map()
    for (const each of selected) {
      if (options.signal.aborted) break
      snapshots.push(await this.#takeOne(options, each, limit, samples))
    }
    this.#samples = samples
    return snapshots
  }

  async #takeOne(
    { letters, at, limitsOf }: TakeOptions,
    { channel, waiting, count, queued }: SelectedChannel,
    limit: number,
    samples: SampleCache,
  ): Promise<ChannelSnapshot> {
    const depth = count + queued
    const { ageMs, ratePerHour } = limitsOf(channel)
    const rate =
      ratePerHour === undefined
        ? {}
        : { failedInLastHour: (await letters.stats({ channel, after: at - HOUR_MS })).count }
    if (count === 0) return { v: 1, at, channel, depth, overAge: 0, ...rate, ...NO_SAMPLE }
    const stats = await Promise.all(waiting.map(({ state }) => letters.stats({ channel, state })))
    const mark = JSON.stringify([
      limit,
      waiting,
      stats.map(each => [each.count, each.oldestAt, each.newestAt]),
    ])
    const known = this.#samples.get(channel)
    const sample =
      known?.mark === mark ? known.sample : await takeSample(letters, channel, waiting, limit, this.#masks)
    samples.set(channel, { mark, sample })
    const oldestAt = oldestOf(stats)
    return {
      v: 1,
      at,
      channel,
      depth,
      oldestAt: oldestAt && Math.max(0, Math.floor(oldestAt)),
      overAge: await overAge(letters, { channel, before: at - ageMs }, waiting, stats),
      ...rate,
      ...sample,
    }
  }
}

async function selectChannels({
  letters,
  queues,
  required,
}: TakeOptions): Promise<readonly SelectedChannel[]> {
  const [all, stats] = await Promise.all([letters.stats(), waitingStats(letters)])
  const of = (channel: string): SelectedChannel => {
    const counts = stats.map(({ byChannel }) => countOf(byChannel, channel))
    return {
      channel,
      waiting: WAITING_STATES.map((state, index) => ({ state, count: counts[index]! })).filter(
        ({ count }) => count > 0,
      ),
      count: counts.reduce((sum, count) => sum + count, 0),
      queued: queues.get(channel) ?? 0,
    }
  }
  const most = [...new Set([...Object.keys(all.byChannel), ...queues.keys()])]
    .map(of)
    .sort((a, b) => b.count + b.queued - (a.count + a.queued) || (a.channel < b.channel ? -1 : 1))
    .slice(0, MAX_CHANNELS)
  const selected = new Set(most.map(({ channel }) => channel))
  const more = required.filter(channel => !selected.has(channel)).slice(0, MAX_CHANNELS)
  return [...most, ...more.map(of)]
}

/** A channel may have any name, also one that an object's prototype uses. */
function countOf(byChannel: LetterStats['byChannel'], channel: string): number {
  return Object.hasOwn(byChannel, channel) ? byChannel[channel]! : 0
}

/** Counts the letters over the age limit. It queries the store only if some, but not all, letters of a state are. */
async function overAge(
  letters: DeadLetterStore,
  { channel, before }: { readonly channel: string; readonly before: number },
  waiting: readonly StateCount[],
  stats: readonly LetterStats[],
): Promise<number> {
  const counts = await Promise.all(
    stats.map(async ({ count, oldestAt = before, newestAt = before }, index) => {
      if (oldestAt >= before) return 0
      if (newestAt < before) return count
      return (await letters.stats({ channel, state: waiting[index]?.state, before })).count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

const MAX_ERRORS = 5
const PAGE = 200
const NAME_LENGTH = 200

type Sample = Pick<ChannelSnapshot, 'averageRetries' | 'sampled' | 'errors'>

const NO_SAMPLE: Sample = Object.freeze({ averageRetries: 0, sampled: 0, errors: [] })

/** How many letters of a state wait in a channel. */
interface StateCount {
  readonly state: LetterState
  readonly count: number
}

/** Samples about `most` of the newest waiting letters of a channel, each state in proportion. */
async function takeSample(
  letters: DeadLetterStore,
  channel: string,
  waiting: readonly StateCount[],
  most: number,
  masks: Masks,
): Promise<Sample> {
  const total = waiting.reduce((sum, { count }) => sum + count, 0)
  const found: DeadLetter[] = []
  for (const { state, count } of waiting) {
    const share = Math.ceil((count * Math.min(most, total)) / total)
    found.push(...(await newest(letters, { channel, state }, share)))
  }
  return sampleOf(found, masks)
}

/** Reads page by page, so that other queries are served in between. */
async function newest(
  letters: DeadLetterStore,
  filter: LetterFilter,
  most: number,
): Promise<readonly DeadLetter[]> {
  const found: DeadLetter[] = []
  let cursor: string | undefined
  do {
    const page = await letters.list({ ...filter, cursor, limit: Math.min(PAGE, most - found.length) })
    found.push(...page.letters)
    cursor = page.cursor
  } while (cursor !== undefined && found.length < most)
  return found
}

function sampleOf(letters: readonly DeadLetter[], masks: Masks): Sample {
  if (letters.length === 0) return NO_SAMPLE
  const retries = letters.reduce((sum, letter) => sum + retriesOf(letter), 0)
  return {
    averageRetries: Math.round((retries / letters.length) * 100) / 100,
    sampled: letters.length,
    errors: errorsOf(letters, masks),
  }
}

/** Retries over all known cycles: each attempt of a failed replay counts as a retry. */
function retriesOf({ cycle, endedCycles }: DeadLetter): number {
  const attempts = endedCycles.reduce((sum, ended) => sum + ended.attemptCount, cycle.attemptCount)
  return Math.max(0, attempts - 1)
}

/**
 * Counts the letters by group. A letter without an attempt is named by its reason. The name is masked, because only its letter
 * knows what it quotes.
 */
function errorsOf(letters: readonly DeadLetter[], masks: Masks): readonly ErrorShare[] {
  const errors = new Map<string, ErrorShare>()
  for (const letter of letters) {
    const { id, title } = groupingOf(letter)
    const known = errors.get(id)
    const name = known?.name ?? shownName(letter, title, masks)
    errors.set(id, { fingerprint: id, name, count: (known?.count ?? 0) + 1 })
  }
  return [...errors.values()]
    .sort((a, b) => b.count - a.count || (a.fingerprint < b.fingerprint ? -1 : 1))
    .slice(0, MAX_ERRORS)
}

function shownName(letter: DeadLetter, title: string, masks: Masks): string {
  const { failure } = letter.cycle
  const name = failure === undefined ? title : masksOfLetter(letter, masks).maskText(failure.name)
  return name.slice(0, NAME_LENGTH)
}
