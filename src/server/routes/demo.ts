import * as z from 'zod'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import { demoState } from '../schema/demo.ts'

type Context = Pick<ServerContext, 'demo' | 'stores' | 'clock' | 'announce'>

const route = routeFor<Context>()
const oneAction = z.strictObject({
  action: z.string().min(1).max(100).describe('The id of the action, from a step of the demo.'),
})

export const demoRoutes = [
  route({
    method: 'GET',
    path: `${API}/demo`,
    about: 'Returns the progress of the demo; 404 unless `lazaret demo` runs the server.',
    answer: demoState,
    handle: ({ context }) => demoOf(context).state(),
  }),
  route({
    method: 'POST',
    path: `${API}/demo/:action`,
    about: 'Runs an action of the demo.',
    action: 'demo.act',
    params: oneAction,
    body: z.strictObject({}),
    answer: demoState,
    async handle({ context, caller, params }) {
      const state = await demoOf(context).act(params.action, caller.name)
      const entry = { at: context.clock.now(), by: caller.name, action: 'demo.act', target: params.action }
      await context.stores.all[0]?.store.audit.append(entry)
      context.announce('demo', 'letters', 'groups', 'replays', 'channels')
      return state
    },
  }),
]

function demoOf({ demo }: Context) {
  if (demo !== undefined) return demo
  throw new ProblemError('not-found', 'This server does not run the demo. Start it with lazaret demo.')
}
