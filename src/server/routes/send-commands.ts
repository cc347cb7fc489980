import { type CommandRequest, NoRecipientError, sendCommands } from '../../operations/fleet-commands.ts'
import type { ServerContext } from '../context.ts'
import type { CommandRequestView } from '../schema/fleet.ts'
import type { StoreFault } from '../store-fault.ts'
import { requestView } from '../views/command-request.ts'

interface SentToStores {
  /** One request for each store that has such processes. */
  readonly requests: CommandRequestView[]
  readonly faults: readonly StoreFault[]
}

/** Sends a command through every store, or through one. Rejects only when no store answers. */
export async function sendToStores(
  context: Pick<ServerContext, 'stores' | 'fleet' | 'clock' | 'masks'>,
  request: CommandRequest,
  store?: string,
): Promise<SentToStores> {
  const { found, faults } = await context.stores.each(async ({ store }) => {
    const sent = await sendCommands(store, request, context.clock).catch(noRecipient)
    return sent && (await store.commands!.get(sent.request))
  }, store)
  const requests: CommandRequestView[] = []
  for (const { value, ...named } of found)
    if (value !== undefined) requests.push(await requestView(context, named, value))
  return { requests, faults }
}

/** A store without such a process is not a fault: another store may have one. */
function noRecipient(error: unknown): undefined {
  if (error instanceof NoRecipientError) return undefined
  throw error
}
