import { letterPages } from '../../adapter-kit/query/letter-pages.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { type Retention, retainedUntil } from '../../core/dead-letter/retention.ts'
import { WAITING_STATES } from '../../core/dead-letter/state.ts'
import { maskGroupTexts } from '../../operations/mask-group.ts'
import { yieldToEventLoop } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Group } from '../../ports/groups.ts'
import type { ExpiryNotice, GroupNotice, ReplayNotice } from '../../ports/notifier.ts'
import type { Replay } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'

/** A notice about a group, a replay or the retention of a store. */
type StoreNotice = GroupNotice | ReplayNotice | ExpiryNotice

/** Identifies an alert about a store, after a restart too. */
export interface StoreAlert {
  readonly kind: StoreNotice['kind']
  /** The id of the group or replay, or the name of the channel. */
  readonly id: string
  /** Tells two occurrences apart: the time of the resolution of the group, or of the last resume of the replay. */
  readonly occurrence: number
}

/** Two different alerts never get the same key. */
export function storeAlertKey({ kind, id, occurrence }: StoreAlert): string {
  return JSON.stringify([kind, id, occurrence])
}

export function regressedGroups(groups: readonly Group[]): readonly StoreAlert[] {
  return groups.flatMap(group => regression(group) ?? [])
}

function regression({ id, regressed, triage }: Group): StoreAlert | undefined {
  return regressed ? { kind: 'group_regressed', id, occurrence: triage.setAt ?? 0 } : undefined
}

/** More replays than anyone leaves halted or unapproved. */
const MAX_REPLAYS = 1_000

export async function stoppedReplays({ replays }: Store): Promise<readonly StoreAlert[]> {
  const limit = MAX_REPLAYS
  const [halted, planned] = await Promise.all([
    replays.list({ state: 'halted', limit }),
    replays.list({ state: 'planned', limit }),
  ])
  return [...halted, ...planned].flatMap(replay => stop(replay) ?? [])
}

function stop({ id, state, needsApproval, resumedAt = 0 }: Replay): StoreAlert | undefined {
  if (state === 'halted') return { kind: 'replay_halted', id, occurrence: resumedAt }
  if (state === 'planned' && needsApproval) return { kind: 'replay_needs_approval', id, occurrence: 0 }
  return undefined
}

/** Whether the alert about a group or a replay stands, although a list did not have it. Lists have a limit. */
export async function stillStands(store: Store, alert: StoreAlert): Promise<boolean> {
  const now = await currentAlert(store, alert)
  return now !== undefined && storeAlertKey(now) === storeAlertKey(alert)
}

async function currentAlert(store: Store, { kind, id }: StoreAlert): Promise<StoreAlert | undefined> {
  if (kind === 'letters_expiring') return undefined
  if (kind === 'group_regressed') {
    const group = await store.groups.get(id)
    return group && regression(group)
  }
  const replay = await store.replays.get(id)
  return replay && stop(replay)
}

/** The letters of a channel that are about to expire. */
interface ExpiringChannel {
  readonly count: number
  readonly firstAt: number
}

/** The letters that are about to expire. If the scan is cut, there may be more of them. */
export interface ExpiringLetters {
  readonly channels: ReadonlyMap<string, ExpiringChannel>
  readonly isCut: boolean
}

export const NOTHING_EXPIRES: ExpiringLetters = Object.freeze({ channels: new Map(), isCut: false })

/** No store has an index of expiry, so a scan reads letters. Of each waiting state it reads this number, the oldest first. */
const MAX_SCANNED = 10_000

/** Reads which waiting letters retention may delete before `until`. */
export async function scanExpiring(
  letters: DeadLetterStore,
  retention: Retention,
  until: number,
  signal: AbortSignal,
): Promise<ExpiringLetters> {
  const channels = new Map<string, ExpiringChannel>()
  let isCut = false
  for (const state of WAITING_STATES) {
    let read = 0
    for await (const page of letterPages(letters, { state, sort: 'lastFailed', order: 'asc' })) {
      if (signal.aborted) break
      if (read >= MAX_SCANNED) {
        isCut = true
        break
      }
      for (const letter of page) {
        const at = retainedUntil(letter, letters.retention ?? retention)
        if (at !== undefined && at <= until) add(channels, letter.channel, at)
      }
      read += page.length
      await yieldToEventLoop()
    }
  }
  return { channels, isCut }
}

function add(channels: Map<string, ExpiringChannel>, channel: string, at: number): void {
  const known = channels.get(channel)
  const firstAt = Math.min(known?.firstAt ?? at, at)
  channels.set(channel, { count: (known?.count ?? 0) + 1, firstAt })
}

type NoticeStatus = Pick<StoreNotice, 'at' | 'firing' | 'store' | 'toldSince'>

/** The notice about an alert, with what the store has about it now. */
export async function describeStoreAlert(
  store: Store,
  { kind, id }: StoreAlert,
  expiring: ExpiringLetters,
  masks: Masks,
  status: NoticeStatus,
): Promise<StoreNotice> {
  if (kind === 'letters_expiring') {
    const { count = 0, firstAt } = expiring.channels.get(id) ?? {}
    return { kind, channel: id, count, firstAt, isMore: expiring.isCut, ...status }
  }
  if (kind === 'group_regressed') {
    const group = await store.groups.get(id)
    const texts = group && (await maskGroupTexts(store, group, masks))
    return { kind, group: { id, title: texts?.title }, channel: group?.channels[0], ...status }
  }
  const found = await store.replays.get(id)
  const replay = {
    id,
    reason: found && masks.maskText(found.reason),
    by: found?.createdBy,
    letters: found?.count,
    halted: found?.stateReason && masks.maskText(found.stateReason),
  }
  return { kind, replay, ...status }
}
