import * as z from 'zod'
import { ROLES, SIGN_IN_KINDS, type SignInKind } from '../../core/options/sign-in.ts'
import { optional, storeName, text, who } from './common.ts'
import { permission } from './replays.ts'

export const role = z.enum(ROLES).describe('The role of the caller.')

/** Every change that the API can make. */
export const action = z.enum([
  'letter.reveal',
  'letter.discard',
  'letter.reopen',
  'letters.purge',
  'letters.export',
  'view.save',
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
  'fleet.command',
  'demo.act',
])
export type Action = z.infer<typeof action>

export const signInKind = z.enum(SIGN_IN_KINDS)
export type { SignInKind }

export const me = z.object({
  name: who.describe('The name of the token, of the person with the kind of the sign-in, or `local`.'),
  role,
  signIn: signInKind.describe(
    'How the server knows the caller: by a token, by OpenID Connect, by a proxy, or not at all (`local`).',
  ),
  can: z.record(action, permission).describe('The permission for each action.'),
  readOnly: z.boolean().describe('Whether the server refuses all changes.'),
  needsApproval: z.boolean().describe('Whether a second person must approve every replay.'),
  version: text('The version of Lazaret.'),
  stores: z
    .array(z.object({ name: storeName, url: text('The URL of the store, without credentials.') }))
    .describe('The stores of the server.'),
  demo: z.boolean().describe('Whether the server runs the demo.'),
})
export type Me = z.infer<typeof me>

/** Why a person could not sign in. The console has a sentence for each. */
export type SignInProblem =
  | 'expired'
  | 'refused'
  | 'unreachable'
  | 'clock'
  | 'failed'
  | 'no-name'
  | 'unverified'
  | 'no-role'

/** How a person can sign in. */
export const signIn = z.object({
  token: z.boolean().describe('Whether the server accepts tokens.'),
  oidc: optional(
    z.object({
      label: text('The name of the provider.'),
      path: text('The path that begins the sign-in. Add `to`, the path to return to.'),
    }),
    'The sign-in by OpenID Connect. Absent when the server has none.',
  ),
  proxy: z.boolean().describe('Whether the server knows people by the headers of a proxy.'),
})
export type SignIn = z.infer<typeof signIn>
