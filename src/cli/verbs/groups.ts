import type { TriageState } from '../../core/dead-letter/group.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { readGroupDifferences } from '../../operations/group-differences.ts'
import { readGroupTimeline } from '../../operations/group-timeline.ts'
import { maskGroup } from '../../operations/mask-group.ts'
import { triageGroup } from '../../operations/triage.ts'
import type { Group } from '../../ports/groups.ts'
import type { Context } from '../command.ts'
import { findGroup } from '../find-by-id.ts'
import type { groupListFlags, muteFlags, storeFlags, triageFlags } from '../flags.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { formatGroup, type GroupInsight, groupJson } from '../print/format-group.ts'
import { jsonLine } from '../print/json.ts'
import { writePages } from '../print/pages.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor, stateColour } from '../print/style.ts'
import { ageColumn, type Column, tableOn } from '../print/table.ts'
import { onStore, type Session } from '../session.ts'

const PAGE = 500

export const groupsList = onStore<typeof groupListFlags>(async ({ store, masks }, { io, flags }) => {
  const { state, channel, search } = flags
  const toText = flags.json
    ? (groups: readonly Group[]) => groups.map(group => jsonLine(groupJson(group, masks))).join('')
    : groupTable(io, masks)
  const isFiltered = [state, channel, search].some(each => each !== undefined)
  const listing = { command: 'groups list', what: 'groups', isFiltered }
  await writePages(io, flags, listing, async (left, cursor) => {
    const limit = Math.min(left, PAGE)
    const page = await store.groups.list({ state, channel, search, limit, cursor })
    const shown = await Promise.all(page.groups.map(group => maskGroup(store, group, masks)))
    return { count: shown.length, text: toText(shown), cursor: page.cursor }
  })
})

function groupTable(io: Io, masks: Masks): (groups: readonly Group[]) => string {
  const columns: Column<Group>[] = [
    { title: 'ID', cell: ({ id }) => id },
    {
      title: 'STATE',
      cell: ({ state, regressed }) => (regressed ? `${state} (regressed)` : state),
      colour: ({ state }) => stateColour(state),
    },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
    { title: 'TOTAL', cell: ({ count }) => String(count), dropAt: 4 },
    ageColumn(io, 'LAST SEEN', ({ lastSeenAt }) => lastSeenAt),
    { title: 'CATEGORY', cell: ({ category }) => category, dropAt: 2 },
    { title: 'OWNER', cell: ({ triage }) => safeText(triage.owner ?? '-'), shrinksTo: 6, dropAt: 3 },
    { title: 'TITLE', cell: ({ title }) => safeText(masks.maskText(title)), shrinksTo: 24 },
  ]
  const table = tableOn(io, columns)
  return groups => table.page(groups)
}

export const groupsShow = onStore<typeof storeFlags>(async (session, { args, flags }) => {
  const { io, masks, store } = session
  const group = await findGroup(store, args[0]!)
  const reports = ((await store.fleet?.list()) ?? []).map(({ report }) => report)
  const timeline = await readGroupTimeline(store.deadLetters, group, reports, masks, io.clock.now())
  const differences = await readGroupDifferences(store, group.id, masks)
  await showGroup(session, group, flags.json, { timeline, differences })
})

async function showGroup(
  { io, masks, store }: Session,
  found: Group,
  asJson: boolean | undefined,
  insight?: GroupInsight,
): Promise<void> {
  const group = await maskGroup(store, found, masks)
  const text = asJson
    ? jsonLine(groupJson(group, masks, insight))
    : formatGroup(group, masks, io.clock.now(), paintFor(io.stdout, io.env), insight)
  await io.stdout.write(text)
}

export const groupsAck = triageCommand('acknowledged')
export const groupsResolve = triageCommand('resolved')

export async function groupsMute(context: Context<typeof muteFlags>): Promise<ExitCode> {
  const { until } = context.flags
  if (until === undefined)
    throw new UsageError('groups mute: --until is missing; give a time such as --until 3d')
  return triageCommand('muted', until)(context)
}

function triageCommand(state: TriageState, mutedUntil?: number) {
  return onStore<typeof triageFlags>(async (session, { io, args, flags }) => {
    const { owner, link, note } = flags
    const { id } = await findGroup(session.store, args[0]!)
    const change = { state, owner, link, note, mutedUntil, at: io.clock.now(), by: session.by }
    const group = await triageGroup(session.store, id, change)
    if (group === undefined)
      throw new FailedError(`group ${id} has no letters any more, so it no longer exists`)
    await showGroup(session, group, flags.json)
  })
}
