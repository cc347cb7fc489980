import { createServer } from 'node:http'
import Provider from 'oidc-provider'
import { freePorts } from '../services/free-ports.ts'

export interface RealProvider {
  readonly issuer: string
  close(): Promise<void>
}

export const CLIENT = { id: 'lazaret', secret: 'secret-of-the-client-in-browser-tests' }

/** A real provider of OpenID Connect, with its own pages for signing in, consent and signing out. Any password will do. */
export async function startProvider(
  publicUrl: string,
  groups: Readonly<Record<string, readonly string[]>>,
): Promise<RealProvider> {
  const [port] = await freePorts(1)
  const issuer = `http://127.0.0.1:${port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${publicUrl}/auth/callback`],
        post_logout_redirect_uris: [`${publicUrl}/`],
      },
    ],
    cookies: { keys: ['a key of the tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@example.com`,
        email_verified: true,
        groups: [...(groups[id] ?? [])],
      }),
    }),
  })
  const server = createServer(provider.callback())
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    issuer,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
