import { givenFields } from '../../core/options/merge.ts'
import { describeWanted } from '../../operations/fleet-commands.ts'
import type { CommandTask } from '../../ports/commands.ts'
import { API, type HandlerInput, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import {
  type BreakerBody,
  breakerBody,
  channelChange,
  oneChannel,
  type PauseBody,
  pauseBody,
} from '../schema/channels.ts'
import { withFaults } from '../stores/federation.ts'
import type { LocalConsumer } from '../stores/local-consumers.ts'
import { type ChannelContext, listChannels } from './channels.ts'
import { sendToStores } from './send-commands.ts'

const CHANNEL = `${API}/channels/:channel`

type Input = HandlerInput<ChannelContext, { channel: string }, undefined, PauseBody | BreakerBody>

/** A change of consumers: in the server's own process, and as a command to the others. */
interface ConsumerChange {
  readonly action: string
  readonly task: CommandTask
  /** What the audit log records besides. */
  readonly detail?: Readonly<Record<string, string>>
  /** The consumers of the server's own process to change. */
  readonly local: readonly LocalConsumer[]
  apply(local: LocalConsumer): void
}

const route = routeFor<ChannelContext>()
export const channelChangeRoutes = [
  route({
    method: 'POST',
    path: `${CHANNEL}/breaker`,
    about:
      'Forces the breaker of a handler open or closed until it is set back to auto: in this process at once, and in all other living processes by a command.',
    action: 'breaker.force',
    params: oneChannel,
    body: breakerBody,
    answer: channelChange,
    handle(input) {
      const { context, caller, params, body } = input
      const { handler, to } = body
      const found = context.consumers.of(params.channel, handler)
      return changeConsumers(input, {
        action: 'breaker.force',
        task: { kind: 'breaker', channel: params.channel, handler, to },
        detail: { to },
        local: found.filter(({ consumer }) => consumer.breaker !== undefined),
        apply: ({ consumer }) => consumer.breaker?.force(to, caller.name),
      })
    },
  }),
  pauseRoute(
    'pause',
    'Pauses the consumers of a channel until they are resumed: in this process at once, and in all other living processes by a command.',
  ),
  pauseRoute(
    'resume',
    'Resumes consumers that were paused manually: in this process at once, and in all other living processes by a command.',
  ),
]

function pauseRoute(verb: 'pause' | 'resume', about: string) {
  return route({
    method: 'POST',
    path: `${CHANNEL}/${verb}`,
    about,
    action: `consumer.${verb}`,
    params: oneChannel,
    body: pauseBody,
    answer: channelChange,
    handle(input) {
      const { context, params, body } = input
      const { handler } = body
      return changeConsumers(input, {
        action: `consumer.${verb}`,
        task: { kind: verb, channel: params.channel, ...givenFields({ handler }) },
        local: context.consumers.of(params.channel, handler),
        apply: ({ consumer }) => consumer[verb](),
      })
    },
  })
}

async function changeConsumers(input: Input, change: ConsumerChange) {
  const { context, params, body } = input
  const { local, apply } = change
  if (local.length > 0) await audit(input, change)
  for (const each of local) apply(each)
  const { requests, faults } =
    body.processes === 'own' ? { requests: [], faults: [] } : await commandOthers(input, change)
  if (local.length + requests.length + faults.length === 0) throw nothingToChange(input, change)
  context.announce('channels')
  const { channels, ...rest } = await listChannels(context)
  return {
    channels: channels.filter(each => each.channel === params.channel),
    requests,
    ...rest,
    ...withFaults(faults.length > 0 ? faults : (rest.faults ?? [])),
  }
}

/** The server changes its own consumers itself, so that its own process gets no command for them. */
function commandOthers({ context, caller, params, body }: Input, { task }: ConsumerChange) {
  return sendToStores(context, {
    task,
    by: caller.name,
    reason: body.reason,
    isRecipient: instance => context.fleet.hasRemote(instance, params.channel, body.handler),
  })
}

/** Changing nothing would look like success. */
function nothingToChange({ context, params, body }: Input, { task }: ConsumerChange): ProblemError {
  const { channel } = params
  if (context.consumers.of(channel, body.handler).length > 0)
    return new ProblemError(
      'conflict',
      `The breaker of ${body.handler} is off. Pause channel ${channel} instead.`,
    )
  const who = body.processes === 'own' ? 'This process has no consumer that' : 'No living process'
  return new ProblemError(
    'not-found',
    `${who} ${describeWanted(task, undefined, undefined)}. List the processes with GET ${API}/fleet.`,
  )
}

/** Records the change in the audit log of the first store, because a consumer belongs to no store. */
async function audit({ context, caller, params, body }: Input, { action, detail, local }: ConsumerChange) {
  const handlers = local.map(({ health }) => health.handler)
  await context.stores.all[0]?.store.audit.append({
    at: context.clock.now(),
    by: caller.name,
    action,
    target: params.channel,
    detail: { ...detail, handlers, reason: body.reason },
  })
}
