import { givenFields } from '../../core/options/merge.ts'
import { describeWanted, NoRecipientError, sendCommands } from '../../operations/fleet-commands.ts'
import type { CommandRecord, CommandTask } from '../../ports/commands.ts'
import type { Instance } from '../../ports/fleet.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import { iso, isoOr, type Json } from '../schema/common.ts'
import {
  type CommandBody,
  type CommandRequestView,
  commandAnswer,
  commandBody,
  commandRequest,
  type FleetInstance,
  fleetList,
  instance,
  oneInstance,
  oneRequest,
} from '../schema/fleet.ts'
import { type NamedStore, withFaults } from '../stores/federation.ts'
import { maskedResult } from '../views/command-result.ts'

const FLEET = `${API}/fleet`

const route = routeFor<Pick<ServerContext, 'stores' | 'clock' | 'announce' | 'masks'>>()

export const fleetRoutes = [
  route({
    method: 'GET',
    path: FLEET,
    about:
      'Lists the processes that report to the stores: their consumers and sinks, breakers, pauses and rates.',
    answer: fleetList,
    async handle({ context: { stores } }) {
      const { found, faults } = await stores.each(async ({ store }) => (await store.fleet?.list()) ?? [])
      return {
        instances: found.flatMap(({ name, value }) => value.map(each => instanceView(name, each))),
        ...withFaults(faults),
      }
    },
  }),
  route({
    method: 'POST',
    path: `${FLEET}/commands`,
    about:
      'Sends a command to the living processes that have the channel or sink: pause or resume consumers, force a breaker, probe, validate letters, resend letters. Read the outcome with the id of the request.',
    action: 'fleet.command',
    body: commandBody,
    answer: commandAnswer,
    async handle({ context, caller, body }) {
      const { stores, clock } = context
      const { instance, service, recipients, reason } = body
      const task = taskOf(body)
      const { found, faults } = await stores.each(async ({ store }) => {
        const sent = await sendCommands(
          store,
          { task, instance, service, recipients, reason, by: caller.name },
          clock,
        ).catch(noRecipient)
        return sent && (await store.commands!.get(sent.request))
      }, body.store)
      const requests: CommandRequestView[] = []
      for (const { value, ...named } of found)
        if (value !== undefined) requests.push(await requestView(context, named, value))
      if (requests.length === 0 && faults.length === 0)
        throw new ProblemError(
          'not-found',
          `No living process ${describeWanted(task, instance, service)}. List the processes with GET ${FLEET}.`,
        )
      context.announce('channels')
      return { requests, ...withFaults(faults) }
    },
  }),
  route({
    method: 'GET',
    path: `${FLEET}/commands/:request`,
    about: 'Returns the commands of a request and their outcomes.',
    params: oneRequest,
    answer: commandRequest,
    async handle({ context, params: { request } }) {
      const { value, ...named } = await context.stores.find('request', request, async ({ store }) => {
        const records = (await store.commands?.get(request)) ?? []
        return records.length === 0 ? undefined : records
      })
      return requestView(context, named, value)
    },
  }),
  route({
    method: 'GET',
    path: `${FLEET}/:instance`,
    about: 'Returns one process with its consumers and sinks.',
    params: oneInstance,
    answer: instance,
    async handle({ context: { stores }, params }) {
      const { value, name } = await stores.find('process', params.instance, async ({ store }) =>
        (await store.fleet?.list())?.find(({ report }) => report.id === params.instance),
      )
      return instanceView(name, value)
    },
  }),
]

/** A store without such a process is not a fault: another store may have one. */
function noRecipient(error: unknown): undefined {
  if (error instanceof NoRecipientError) return undefined
  throw error
}

function taskOf({ task: kind, channel, handler, sink, to, letters }: CommandBody): CommandTask {
  return { kind, ...givenFields({ channel, handler, sink, to, letters }) }
}

function instanceView(store: string, { report, state, seenAt, silentMs }: Instance): FleetInstance {
  const { v: _, startedAt, consumers, sinks, ...rest } = report
  return {
    ...rest,
    store,
    state,
    startedAt: iso(startedAt),
    seenAt: iso(seenAt),
    silentMs: Math.round(silentMs),
    consumers: consumers.map(({ lastProcessedAt, paused, ...each }) => ({
      ...each,
      paused: [...paused],
      lastProcessedAt: isoOr(lastProcessedAt),
    })),
    sinks: sinks.map(({ lastDeliveredAt, ...each }) => ({
      ...each,
      lastDeliveredAt: isoOr(lastDeliveredAt),
    })),
  }
}

async function requestView(
  { masks }: Pick<ServerContext, 'masks'>,
  { name, store }: NamedStore,
  records: readonly CommandRecord[],
): Promise<CommandRequestView> {
  const [{ command }] = records as readonly [CommandRecord]
  const { letters, patch, ...task } = command.task
  const view = async ({ command, state, sentAt, expiresAt, endedAt, outcome, claimedBy }: CommandRecord) => {
    const { id, recipients } = command
    const result =
      outcome?.ok === true ? await maskedResult(outcome.result, command.task, store, masks) : undefined
    return {
      id,
      instance: claimedBy ?? (recipients.length === 1 ? recipients[0] : undefined),
      recipients: [...recipients],
      state,
      sentAt: iso(sentAt),
      expiresAt: iso(expiresAt),
      endedAt: isoOr(endedAt),
      result: result as Json | undefined,
      error: outcome?.ok === false ? masks.maskText(outcome.error) : undefined,
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
