import { group } from '../core/options/resolve.ts'
import { derived, optional } from '../core/options/rules.ts'
import {
  checkSignIn,
  oidcRule,
  proxySignInRule,
  publicUrlRule,
  sessionSecretsRule,
} from '../core/options/sign-in.ts'
import { duration } from './rules.ts'

const session = group({
  secrets: sessionSecretsRule,
  maxAge: optional(duration),
  idle: optional(duration),
})

const sessionRule = derived(session, ({ secrets, maxAge, idle }) => ({
  secrets,
  maxAgeMs: maxAge,
  idleMs: idle,
}))

/** How people sign in. Undefined settings take the defaults of the server. */
export const signInRule = group(
  {
    publicUrl: publicUrlRule,
    session: optional(sessionRule),
    oidc: optional(oidcRule),
    proxy: optional(proxySignInRule),
  },
  checkSignIn,
)
