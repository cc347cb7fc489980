import { givenFields } from '../../core/options/merge.ts'
import { describeWanted } from '../../operations/fleet-commands.ts'
import { pageAfter, pageOfInstances } from '../../operations/list-instances.ts'
import type { CommandTask } from '../../ports/commands.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import {
  type CommandBody,
  commandAnswer,
  commandBody,
  commandRequest,
  fleetList,
  fleetQuery,
  fleetServices,
  instance,
  oneInstance,
  oneRequest,
  servicesQuery,
} from '../schema/fleet.ts'
import { withFaults } from '../stores/federation.ts'
import { processesById } from '../stores/processes-by-id.ts'
import { requestView } from '../views/command-request.ts'
import { instanceView } from '../views/instance.ts'
import { servicesOf } from '../views/services.ts'
import { sendToStores } from './send-commands.ts'

const FLEET = `${API}/fleet`

const route = routeFor<Pick<ServerContext, 'stores' | 'fleet' | 'clock' | 'announce' | 'masks'>>()

export const fleetRoutes = [
  route({
    method: 'GET',
    path: FLEET,
    about:
      'Lists the processes that report to the stores, in the order of service, start and id: their consumers and sinks, breakers, pauses and rates. Those that are gone, or that left, come in the order in which they were seen, the last one first, if `state` asks for them.',
    query: fleetQuery,
    answer: fleetList,
    async handle({ context, query: { store, limit, cursor, ...filter } }) {
      const { instances, faults } = await fleetOf(context, store)
      const page = pageOfInstances(instances, filter, { limit, cursor })
      return {
        instances: page.instances.map(each => instanceView(each.store, each)),
        cursor: page.cursor,
        ...withFaults(faults),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${FLEET}/services`,
    about:
      'Lists the services of the fleet by name: the number of their processes, their versions, and the sums of the consumers and sinks of their living processes.',
    query: servicesQuery,
    answer: fleetServices,
    async handle({ context, query: { store, limit, cursor } }) {
      const { instances, faults } = await fleetOf(context, store)
      const listing = { name: 'services', filter: givenFields({ store }) }
      const page = pageAfter(servicesOf(instances), ({ name }) => [name], listing, { limit, cursor })
      return { services: [...page.rows], cursor: page.cursor, ...withFaults(faults) }
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
      const { instance, service, recipients, reason } = body
      const task = taskOf(body)
      const request = { task, instance, service, recipients, reason, by: caller.name }
      const { requests, faults } = await sendToStores(context, request, body.store)
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

/** The processes of all stores, or of one. A process that reports to several counts once. */
async function fleetOf(
  { stores, fleet }: Pick<ServerContext, 'stores' | 'fleet'>,
  store: string | undefined,
) {
  const asked = new Set(stores.chosen(store).map(({ name }) => name))
  const { instances, faults } = await fleet.list()
  return {
    instances: processesById(instances.filter(each => asked.has(each.store))),
    faults: faults.filter(each => asked.has(each.store)),
  }
}

function taskOf({ task: kind, channel, handler, sink, to, letters }: CommandBody): CommandTask {
  return { kind, ...givenFields({ channel, handler, sink, to, letters }) }
}
