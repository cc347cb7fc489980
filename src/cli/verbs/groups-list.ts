import type { Masks } from '../../core/dead-letter/masks.ts'
import { maskGroup } from '../../operations/mask-group.ts'
import type { Group } from '../../ports/groups.ts'
import type { Context } from '../command.ts'
import type { groupListFlags } from '../flags/groups.ts'
import type { ExitCode, Io } from '../io.ts'
import { groupOutside } from '../print/group-story.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor, stateColour } from '../print/style.ts'
import { type Column, Table } from '../print/table.ts'
import { iso, relative } from '../print/times.ts'
import { withStore } from '../session.ts'

const DEFAULT_LISTED = 100
const PAGE = 500

export function groupsList({ io, flags }: Context<typeof groupListFlags>): Promise<ExitCode> {
  return withStore(io, flags, async ({ store, masks }) => {
    const { state, channel, search } = flags
    const toText = flags.json
      ? (groups: readonly Group[]) => groups.map(group => jsonLine(groupOutside(group, masks))).join('')
      : groupTable(io, masks)
    let left = flags.limit ?? DEFAULT_LISTED
    let cursor = flags.cursor
    let isEmpty = true
    do {
      const page = await store.groups.list({ state, channel, search, limit: Math.min(left, PAGE), cursor })
      const shown = await Promise.all(page.groups.map(group => maskGroup(store.deadLetters, group, masks)))
      if (shown.length > 0) await io.stdout.write(toText(shown))
      isEmpty &&= page.groups.length === 0
      left -= page.groups.length
      cursor = page.cursor
    } while (cursor !== undefined && left > 0)
    if (isEmpty) await io.stderr.write('no groups match\n')
    if (cursor !== undefined) await io.stderr.write(`there are more: repeat with --cursor ${cursor}\n`)
    return 0
  })
}

function groupTable(io: Io, masks: Masks): (groups: readonly Group[]) => string {
  const now = io.clock.now()
  const isTerminal = io.stdout.isTerminal
  const columns: Column<Group>[] = [
    { title: 'ID', cell: ({ id }) => id },
    {
      title: 'STATE',
      cell: ({ state, regressed }) => (regressed ? `${state} (back)` : state),
      colour: ({ state }) => stateColour(state),
    },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
    { title: 'ALL', cell: ({ count }) => String(count), dropAt: 4 },
    { title: 'SEEN', cell: ({ lastSeenAt }) => (isTerminal ? relative(lastSeenAt, now) : iso(lastSeenAt)) },
    { title: 'KIND', cell: ({ category }) => category, dropAt: 2 },
    { title: 'OWNER', cell: ({ triage }) => safeText(triage.owner ?? '-'), shrinksTo: 6, dropAt: 3 },
    { title: 'TITLE', cell: ({ title }) => safeText(masks.maskText(title)), shrinksTo: 24 },
  ]
  const table = new Table(columns, paintFor(io.stdout, io.env), io.stdout.columns)
  return groups => table.page(groups)
}
