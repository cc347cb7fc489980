import * as z from 'zod'
import { storeName, who } from './common.ts'
import { permission } from './replays.ts'

export const role = z.enum(['viewer', 'operator', 'admin'])
export type Role = z.infer<typeof role>

/** All that can be done here beside looking. */
export const action = z.enum([
  'letter.reveal',
  'letter.discard',
  'letter.reopen',
  'letters.purge',
  'group.triage',
  'replay.plan',
  'replay.approve',
  'replay.start',
  'replay.pause',
  'replay.resume',
  'replay.cancel',
  'breaker.force',
  'consumer.pause',
  'consumer.resume',
  'demo.act',
])
export type Action = z.infer<typeof action>

export const me = z.object({
  name: who,
  role,
  can: z.record(action, permission),
  readOnly: z.boolean(),
  needsApproval: z.boolean(),
  version: z.string(),
  stores: z.array(z.object({ name: storeName, url: z.string() })),
  demo: z.boolean(),
})
export type Me = z.infer<typeof me>
