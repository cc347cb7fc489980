import type { TriageState } from '../../core/dead-letter/group.ts'
import { triageGroup } from '../../operations/triage.ts'
import type { Context } from '../command.ts'
import { findGroup } from '../find.ts'
import type { muteFlags, triageFlags } from '../flags/groups.ts'
import { type ExitCode, FailedError, UsageError } from '../io.ts'
import { withStore } from '../session.ts'
import { showGroup } from './groups-show.ts'

export function groupsAck(context: Context<typeof triageFlags>): Promise<ExitCode> {
  return say(context, 'acknowledged')
}

export function groupsResolve(context: Context<typeof triageFlags>): Promise<ExitCode> {
  return say(context, 'resolved')
}

export async function groupsMute(context: Context<typeof muteFlags>): Promise<ExitCode> {
  const { until } = context.flags
  if (until === undefined) throw new UsageError('groups mute: needs --until T, such as --until 3d')
  if (until <= context.io.clock.now())
    throw new UsageError('groups mute: --until is in the past; give a time to come')
  return say(context, 'muted', until)
}

function say(
  { io, args, flags }: Context<typeof triageFlags>,
  state: TriageState,
  mutedUntil?: number,
): Promise<ExitCode> {
  return withStore(io, flags, async session => {
    const { owner, link, note } = flags
    const { id } = await findGroup(session.store, args[0]!)
    const change = { state, owner, link, note, mutedUntil, at: io.clock.now(), by: session.by }
    const group = await triageGroup(session.store, id, change)
    if (group === undefined) throw new FailedError(`group ${id} has no letters any more`)
    await showGroup(session, group, flags.json)
    return 0
  })
}
