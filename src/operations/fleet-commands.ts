import { createIdSource } from '../core/event/uuid.ts'
import { LazaretError } from '../core/failure/errors.ts'
import { resolveBy } from '../core/options/resolve.ts'
import { oneOf, optional, text, withDefault } from '../core/options/rules.ts'
import { type Clock, systemRandom } from '../ports/clock.ts'
import type { Command, CommandTask } from '../ports/commands.ts'
import { describePart, hasPart, type Instance, type WantedPart } from '../ports/fleet.ts'
import type { Store } from '../ports/store.ts'
import { resolveTask } from '../runtime/fleet/tasks.ts'

/** A command as a person gives it. */
export interface CommandRequest {
  readonly task: CommandTask
  /** Only this process [every process that has the channel, handler or sink of the task]. */
  readonly instance?: string | undefined
  /** Only the processes of this service [all services]. */
  readonly service?: string | undefined
  /** Every such process, or any one of them: the first that takes it [depends on the task]. */
  readonly recipients?: 'all' | 'any' | undefined
  /** Whether a process that the command concerns may get it [all of them]. */
  readonly isRecipient?: ((instance: Instance) => boolean) | undefined
  readonly by: string
  readonly reason?: string | undefined
}

/** The request under which its commands are found, and the processes that they went to. */
interface SentCommands {
  readonly request: string
  readonly recipients: readonly Instance[]
}

/** The time within which a process executes a command. A process looks for commands every few seconds at most. */
const COMMAND_TTL_MS = 60_000

/** No living process can execute the command. Nothing was sent. */
export class NoRecipientError extends LazaretError {
  override readonly name = 'NoRecipientError'

  constructor(wanted: string) {
    super(`no living process ${wanted}; list the processes with lazaret fleet list`, {
      code: 'LAZARET_NO_RECIPIENT',
      retryable: false,
    })
  }
}

/**
 * Sends a command to the living processes that it concerns: one command for each of them, or one that any of them may take.
 * It has the person's name, and the audit log has the request before the commands are sent.
 */
export async function sendCommands(
  store: Pick<Store, 'fleet' | 'commands' | 'audit' | 'url'>,
  { task, instance, service, recipients: wanted, isRecipient = () => true, by, reason }: CommandRequest,
  clock: Clock,
): Promise<SentCommands> {
  // Before the audit log has the request: a store refuses such commands.
  const recipientsOf = resolveTask(task).recipients
  const which = resolveBy('recipients', withDefault(oneOf('all', 'any'), recipientsOf), wanted)
  resolveBy('by', text(), by)
  resolveBy('reason', optional(text()), reason)
  const { fleet, commands } = store
  if (fleet === undefined || commands === undefined)
    throw new NoRecipientError(`reports itself to ${store.url}, which keeps no fleet`)
  const recipients = (await fleet.list()).filter(
    each =>
      each.state === 'alive' &&
      (instance ?? each.report.id) === each.report.id &&
      (service ?? each.report.service) === each.report.service &&
      hasPart(each, partOf(task)) &&
      isRecipient(each),
  )
  if (recipients.length === 0) throw new NoRecipientError(describeWanted(task, instance, service))
  const newId = createIdSource(systemRandom)
  const request = newId(clock.now())
  const ids = recipients.map(({ report }) => report.id)
  await store.audit.append({
    at: clock.now(),
    by,
    action: `fleet.${task.kind}`,
    target: targetOf(task),
    detail: {
      ...{ request, instances: ids, recipients: which, ...auditedTask(task) },
      ...(reason !== undefined && { reason }),
    },
  })
  const groups = which === 'any' ? [ids] : ids.map(id => [id])
  const sent = groups.map(
    (recipients): Command => ({
      ...{ v: 1, id: newId(clock.now()), request, task, by, reason },
      recipients,
    }),
  )
  await commands.send(sent, COMMAND_TTL_MS)
  return { request, recipients }
}

/** Tasks have more fields than these, and resolving the task has checked them. */
function partOf({ channel, handler, sink }: CommandTask): WantedPart {
  return { channel, handler, sink } as WantedPart
}

/** The audit log counts letters, and does not have the values of a patch: they are parts of payloads. */
function auditedTask({ letters, patch, ...task }: CommandTask): Readonly<Record<string, unknown>> {
  return {
    ...task,
    ...(Array.isArray(letters) && { letters: letters.length }),
    ...(patch !== undefined && { isPatched: true }),
  }
}

function targetOf({ channel, sink }: CommandTask): string {
  return String(channel ?? sink)
}

/** The process that a command asks for, after "no living process". */
export function describeWanted(
  task: CommandTask,
  instance: string | undefined,
  service: string | undefined,
): string {
  const whose = [
    ...(instance === undefined ? [] : [`is ${instance}`]),
    ...(service === undefined ? [] : [`belongs to service ${service}`]),
  ]
  return [...whose, describePart(partOf(task))].join(' and ')
}
