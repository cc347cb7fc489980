import { approveReplay, cancelReplay, pauseReplay } from '../../replay/control.ts'
import type { Context } from '../command.ts'
import { findReplay } from '../find.ts'
import type { steerFlags } from '../flags/replay.ts'
import type { ExitCode } from '../io.ts'
import { withStore } from '../session.ts'
import { showReplay } from './replay-show.ts'

export function replayApprove(context: Context<typeof steerFlags>): Promise<ExitCode> {
  return steer(context, approveReplay)
}

export function replayPause(context: Context<typeof steerFlags>): Promise<ExitCode> {
  return steer(context, pauseReplay)
}

export function replayCancel(context: Context<typeof steerFlags>): Promise<ExitCode> {
  return steer(context, cancelReplay)
}

function steer(
  { io, args, flags }: Context<typeof steerFlags>,
  command: typeof approveReplay,
): Promise<ExitCode> {
  return withStore(io, flags, async session => {
    const { store, by } = session
    const { id } = await findReplay(store, args[0]!)
    await showReplay(session, await command(store, id, { by, why: flags.note, clock: io.clock }), flags.json)
    return 0
  })
}
