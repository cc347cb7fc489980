import { pageOfInstances } from '../../operations/list-instances.ts'
import type { Instance } from '../../ports/fleet.ts'
import type { Store } from '../../ports/store.ts'
import { findInstance } from '../find-by-id.ts'
import type { fleetListFlags, storeFlags } from '../flags.ts'
import { FailedError, type Io } from '../io.ts'
import { formatInstance, instanceColour } from '../print/format-instance.ts'
import { jsonLine, toJson } from '../print/json.ts'
import { writePages } from '../print/pages.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { ageColumn, type Column, tableOn } from '../print/table.ts'
import { onStore } from '../session.ts'

export const fleetList = onStore<typeof fleetListFlags>(async ({ store }, { io, flags }) => {
  const all = await fleetOf(store).list()
  const { service, state } = flags
  const table = tableOn(io, columnsOf(io))
  const toText = (shown: readonly Instance[]) =>
    flags.json ? shown.map(each => jsonLine(toJson(each))).join('') : table.page(shown)
  const isFiltered = service !== undefined || state !== undefined
  const listing = { command: 'fleet list', what: 'processes', isFiltered }
  await writePages(io, flags, listing, async (limit, cursor) => {
    const page = pageOfInstances(all, { service, state }, { limit, cursor })
    return { count: page.instances.length, text: toText(page.instances), cursor: page.cursor }
  })
})

export const fleetShow = onStore<typeof storeFlags>(async ({ store }, { io, args, flags }) => {
  fleetOf(store)
  const instance = await findInstance(store, args[0]!)
  const text = flags.json
    ? jsonLine(toJson(instance))
    : formatInstance(instance, io.clock.now(), paintFor(io.stdout, io.env))
  await io.stdout.write(text)
})

function columnsOf(io: Io): Column<Instance>[] {
  return [
    { title: 'ID', cell: ({ report }) => report.id },
    { title: 'SERVICE', cell: ({ report }) => safeText(report.service), shrinksTo: 12 },
    { title: 'VERSION', cell: ({ report }) => safeText(report.version ?? '-'), dropAt: 3 },
    { title: 'STATE', cell: ({ state }) => state, colour: ({ state }) => instanceColour(state) },
    ageColumn(io, 'LAST SEEN', ({ silentMs }) => io.clock.now() - silentMs),
    {
      title: 'HOST',
      cell: ({ report }) => `${safeText(report.host)}:${report.pid}`,
      shrinksTo: 10,
      dropAt: 4,
    },
    { title: 'CONSUMERS', cell: ({ report }) => String(report.consumers.length), dropAt: 1 },
    { title: 'SINKS', cell: ({ report }) => String(report.sinks.length), dropAt: 2 },
    {
      title: 'ATTENTION',
      cell: attentionOf,
      colour: each => (attentionOf(each) === '-' ? undefined : 'yellow'),
    },
  ]
}

/** The consumers and sinks that do not work as usual. */
function attentionOf({ report }: Instance): string {
  const paused = report.consumers.filter(({ paused }) => paused.length > 0).length
  const stalled = report.consumers.filter(({ stalled = [] }) => stalled.length > 0).length
  const open = [...report.consumers, ...report.sinks].filter(({ breaker }) => /open/.test(breaker)).length
  const parts = [
    ...(open === 0 ? [] : [`${open} breaker open`]),
    ...(paused === 0 ? [] : [`${paused} paused`]),
    ...(stalled === 0 ? [] : [`${stalled} stalled`]),
  ]
  return parts.length === 0 ? '-' : parts.join(', ')
}

function fleetOf({ fleet, url }: Store) {
  if (fleet === undefined)
    throw new FailedError(
      `${url} keeps no fleet; use the sqlite:, postgres: or redis: store that the services share`,
    )
  return fleet
}
