import * as z from 'zod'
import { ProblemError } from '../http/problem.ts'
import { API, route } from '../http/route.ts'
import type { Room } from '../room.ts'
import { demoState } from '../schema/demo.ts'
import { announce } from './announce.ts'

const oneAction = z.strictObject({ action: z.string().min(1).max(100) })

export const demoRoutes = [
  route({
    method: 'GET',
    path: `${API}/demo`,
    about: 'How far the demo has come; 404 unless this is `lazaret demo`.',
    answer: demoState,
    handle: ({ room }) => demoOf(room).state(),
  }),
  route({
    method: 'POST',
    path: `${API}/demo/:action`,
    about: 'Presses a button of the demo.',
    action: 'demo.act',
    params: oneAction,
    body: z.strictObject({}),
    answer: demoState,
    async handle({ room, caller, params }) {
      const state = await demoOf(room).act(params.action, caller.name)
      const entry = { at: room.clock.now(), by: caller.name, action: 'demo.act', target: params.action }
      await room.stores.all[0]?.store.audit.append(entry)
      announce(room, 'demo', 'letters', 'groups', 'replays', 'channels')
      return state
    },
  }),
]

function demoOf({ demo }: Room) {
  if (demo !== undefined) return demo
  throw new ProblemError('not-found', 'This is no demo; start one with lazaret demo.')
}
