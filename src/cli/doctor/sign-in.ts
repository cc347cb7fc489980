import type { Config } from '../../config/config.ts'
import { OidcProvider } from '../../server/auth/oidc.ts'
import { CALLBACK_PATH } from '../../server/auth/sign-in-pages.ts'
import { type Check, failWith, ok } from './check.ts'

/** Reads the discovery document of the OpenID provider, as the server does at its start. It signs nobody in. */
export async function checkSignIn({ server }: Config): Promise<Check[]> {
  const { publicUrl, oidc } = server.signIn ?? {}
  if (oidc === undefined) return []
  try {
    await new OidcProvider(oidc, publicUrl + CALLBACK_PATH).discover()
    return [ok('sign-in', `${oidc.issuer} answers`)]
  } catch (error) {
    const remedy =
      'check server.signIn.oidc.issuer in the config, and that this machine reaches it; until then nobody can sign in with it'
    return [failWith('sign-in', error, remedy)]
  }
}
