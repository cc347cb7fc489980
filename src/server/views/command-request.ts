import type { Masks } from '../../core/dead-letter/masks.ts'
import type { CommandRecord } from '../../ports/commands.ts'
import { iso, isoOr, type Json } from '../schema/common.ts'
import type { CommandRequestView } from '../schema/fleet.ts'
import type { NamedStore } from '../stores/federation.ts'
import type { FleetReader } from '../stores/fleet-reader.ts'
import { maskedOutcome } from './command-result.ts'

/** The commands of a request and what became of them. Their processes are named as far as the fleet knows them. */
export async function requestView(
  { masks, fleet }: { readonly masks: Masks; readonly fleet: FleetReader },
  { name, store }: NamedStore,
  records: readonly CommandRecord[],
): Promise<CommandRequestView> {
  const [{ command }] = records as readonly [CommandRecord]
  const { letters, patch, ...task } = command.task
  const reports = new Map((await fleet.instances()).map(({ report }) => [report.id, report]))
  const view = async ({ command, state, sentAt, expiresAt, endedAt, outcome, claimedBy }: CommandRecord) => {
    const { id, recipients } = command
    const instance = claimedBy ?? (recipients.length === 1 ? recipients[0] : undefined)
    const report = instance === undefined ? undefined : reports.get(instance)
    const shown = outcome && (await maskedOutcome(outcome, command.task, store, masks))
    return {
      id,
      instance,
      host: report?.host,
      pid: report?.pid,
      recipients: [...recipients],
      state,
      sentAt: iso(sentAt),
      expiresAt: iso(expiresAt),
      endedAt: isoOr(endedAt),
      result: shown?.ok === true ? (shown.result as Json | undefined) : undefined,
      error: shown?.ok === false ? shown.error : undefined,
    }
  }
  return {
    id: command.request,
    store: name,
    task: {
      ...(task as CommandRequestView['task']),
      ...(Array.isArray(letters) && { letters: letters as string[] }),
      // Its values are parts of payloads.
      ...(patch !== undefined && { isPatched: true }),
    },
    by: command.by,
    reason: command.reason,
    commands: await Promise.all(records.map(view)),
  }
}
