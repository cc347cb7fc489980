import type { Replay } from '../../ports/replays.ts'
import { gatherLateOutcomes } from '../../replay/outcomes.ts'
import type { Context } from '../command.ts'
import { findReplay } from '../find.ts'
import type { replayListFlags, replayShowFlags } from '../flags/replay.ts'
import type { ExitCode } from '../io.ts'
import { jsonLine, outside } from '../print/json.ts'
import { replayStory } from '../print/replay-story.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor, stateColour } from '../print/style.ts'
import { type Column, Table } from '../print/table.ts'
import { iso, relative } from '../print/times.ts'
import { type Session, withStore } from '../session.ts'

const DEFAULT_LISTED = 20
const LOOKED_AT_FOR_REASONS = 1_000

export function replayShow({ io, args, flags }: Context<typeof replayShowFlags>): Promise<ExitCode> {
  return withStore(io, flags, async session => {
    await showReplay(session, await findReplay(session.store, args[0]!), flags.json)
    return 0
  })
}

export async function showReplay(
  { io, store, masks }: Session,
  replay: Replay,
  asJson: boolean | undefined,
): Promise<void> {
  await gatherLateOutcomes(store, replay, io.clock)
  const counts = await store.replays.counts(replay.id)
  if (asJson) {
    await io.stdout.write(jsonLine({ ...(outside(replay) as object), outcomes: counts }))
    return
  }
  const skipped = await store.replays.items(replay.id, { status: 'skipped', limit: LOOKED_AT_FOR_REASONS })
  const options = { masks, now: io.clock.now(), paint: paintFor(io.stdout, io.env) }
  await io.stdout.write(replayStory(replay, counts, skipped, options))
}

export function replayList({ io, flags }: Context<typeof replayListFlags>): Promise<ExitCode> {
  return withStore(io, flags, async ({ store }) => {
    const replays = await store.replays.list({ state: flags.state, limit: flags.limit ?? DEFAULT_LISTED })
    if (flags.json) {
      await io.stdout.write(replays.map(replay => jsonLine(outside(replay))).join(''))
      return 0
    }
    if (replays.length === 0) {
      await io.stderr.write('there are no replays; lazaret replay plan makes one\n')
      return 0
    }
    const now = io.clock.now()
    const isTerminal = io.stdout.isTerminal
    const columns: Column<Replay>[] = [
      { title: 'ID', cell: ({ id }) => id },
      { title: 'STATE', cell: ({ state }) => state, colour: ({ state }) => stateColour(state) },
      { title: 'LETTERS', cell: ({ count }) => String(count) },
      { title: 'PLANNED', cell: ({ createdAt }) => (isTerminal ? relative(createdAt, now) : iso(createdAt)) },
      { title: 'BY', cell: ({ createdBy }) => safeText(createdBy), dropAt: 1, shrinksTo: 6 },
      { title: 'REASON', cell: ({ reason }) => safeText(reason), shrinksTo: 12 },
    ]
    await io.stdout.write(new Table(columns, paintFor(io.stdout, io.env), io.stdout.columns).page(replays))
    return 0
  })
}
