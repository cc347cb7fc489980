import { maskGroup } from '../../operations/mask-group.ts'
import type { Group } from '../../ports/groups.ts'
import type { Context } from '../command.ts'
import { findGroup } from '../find.ts'
import type { groupShowFlags } from '../flags/groups.ts'
import type { ExitCode } from '../io.ts'
import { groupOutside, groupStory } from '../print/group-story.ts'
import { jsonLine } from '../print/json.ts'
import { paintFor } from '../print/style.ts'
import { type Session, withStore } from '../session.ts'

export function groupsShow({ io, args, flags }: Context<typeof groupShowFlags>): Promise<ExitCode> {
  return withStore(io, flags, async session => {
    await showGroup(session, await findGroup(session.store, args[0]!), flags.json)
    return 0
  })
}

export async function showGroup(
  { io, masks, store }: Session,
  found: Group,
  asJson: boolean | undefined,
): Promise<void> {
  const group = await maskGroup(store.deadLetters, found, masks)
  const text = asJson
    ? jsonLine(groupOutside(group, masks))
    : groupStory(group, masks, io.clock.now(), paintFor(io.stdout, io.env))
  await io.stdout.write(text)
}
