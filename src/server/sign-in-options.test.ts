import { describe, expect, it } from 'vitest'
import { PEOPLE, serverWorld } from '../../test/support/server-world.ts'
import { SIGN_IN } from '../../test/support/sign-in-world.ts'
import { outputWithout } from '../../test/support/without-package.ts'
import type { SignInOptions } from './auth/sign-in-options.ts'
import type { ServerOptions } from './options.ts'

describe('the options of the sign-in', () => {
  const { session, oidc, proxy, publicUrl } = SIGN_IN
  const faultOf = (signIn: unknown, basePath?: string) => {
    try {
      serverWorld({ signIn: signIn as SignInOptions, basePath })
      return undefined
    } catch (error) {
      return (error as Error).message
        .split('\n')
        .slice(1)
        .map(line => line.trim())
        .join('\n')
    }
  }

  it('F8: each fault is one clear line with its remedy, and no secret is shown', () => {
    const short = { secrets: ['hunter2-hunter2'] }
    expect(faultOf({ publicUrl, oidc })).toBe(
      'server.signIn.session: got undefined; add session.secrets: give a list of 1 to 10 secrets of 32 characters or more, because they seal the sessions; `openssl rand -base64 32` generates one',
    )
    expect(faultOf({ publicUrl, oidc, session: short })).toBe(
      'server.signIn.session.secrets[0]: got a value that is not shown; give a secret of 32 characters or more; `openssl rand -base64 32` generates one',
    )
    expect(faultOf({ publicUrl, oidc, session: { secrets: [] } })).toContain('give a list of 1 to 10 secrets')
    expect(faultOf({ publicUrl, session, oidc: { ...oidc, roles: { sre: 'boss' } } })).toBe(
      `server.signIn.oidc.roles.sre: got "boss"; give one of 'viewer', 'operator', 'admin'`,
    )
    expect(faultOf({ publicUrl, session, oidc: { ...oidc, roles: {} } })).toContain('or a defaultRole')
    expect(faultOf({ publicUrl, session, oidc: { ...oidc, scopes: ['email'] } })).toContain("add 'openid'")
    expect(faultOf({ publicUrl, session, oidc: { ...oidc, issuer: 'http://login.example.com' } })).toBe(
      'server.signIn.oidc.issuer: got "http://login.example.com"; give the https URL of the provider, without a query; http is accepted for a loopback address only',
    )
    expect(faultOf({ publicUrl: 'http://ops.example.com', session, oidc })).toContain('give an https URL')
    expect(faultOf({ publicUrl: 'ops.example.com', session, oidc })).toContain(
      'give the URL that people open',
    )
    expect(faultOf({ session, oidc })).toContain('give the URL that people open')
    expect(faultOf({ publicUrl })).toContain('give oidc or proxy')
    expect(faultOf({ publicUrl: `${publicUrl}/ops`, session, oidc }, '/lazaret')).toContain(
      "give a publicUrl whose path is that of basePath, '/lazaret', not '/ops'",
    )
    for (const addresses of [undefined, []])
      expect(faultOf({ publicUrl, proxy: { ...proxy, addresses } })).toContain(
        "give the addresses of the proxy, such as ['10.0.0.5', '10.1.0.0/16'], because the server trusts the header only from them",
      )
    for (const address of [
      '0.0.0.0/0',
      '::/0',
      '10.0.0.256',
      '10.0.0.0/33',
      'proxy.local',
      '10.0.0.5/8/8',
      '',
    ])
      expect(faultOf({ publicUrl, proxy: { ...proxy, addresses: [address] } }), address).toContain(
        'give an IP address or a CIDR block',
      )
    for (const userHeader of ['Authorization', 'cookie', 'two words'])
      expect(faultOf({ publicUrl, proxy: { ...proxy, userHeader } })).toContain('give the name of a header')
  })

  it('F8: a server with a sign-in needs no tokens on an address that others reach, nor for an approval', () => {
    const signIn = { ...SIGN_IN, publicUrl: 'https://ops.example.com' }
    const options = { signIn, needsApproval: true, allowedHosts: ['dlq.example.com'], basePath: '/lazaret' }
    expect(() => serverWorld(options)).not.toThrow()
    expect(() =>
      serverWorld({
        signIn: { ...signIn, publicUrl: 'https://ops.example.com/lazaret/' },
        basePath: '/lazaret',
      }),
    ).not.toThrow()
  })

  it('F8: the host of the public URL is a name of the server', async () => {
    const { ask } = serverWorld({ signIn: { ...SIGN_IN, publicUrl: 'https://ops.example.com' } })
    const status = async (host: string) => (await ask('/healthz', { headers: { host } })).status
    expect([await status('ops.example.com'), await status('evil.example')]).toEqual([200, 421])
  })

  it('F8: without openid-client the server does not start, and says what to install', async () => {
    const code = `
      const { createServer } = await import('./src/server/index.ts')
      const { memoryStore } = await import('./src/adapters/memory/index.ts')
      const stores = memoryStore()
      try { createServer({ stores, signIn: ${JSON.stringify({ publicUrl, session, oidc })} }) } catch (error) { console.log(error.message) }
      createServer({ stores, signIn: ${JSON.stringify({ publicUrl, proxy })} })
      console.log('a proxy needs none')`
    expect(await outputWithout('openid-client', code)).toBe(
      'openid-client: cannot be loaded; install it beside lazaret: npm install openid-client\na proxy needs none',
    )
  })

  it('F8: the sign-in page learns the kinds, and nothing else', async () => {
    const kinds = async (options: Partial<ServerOptions>) =>
      (await serverWorld(options).ask(`${options.basePath ?? ''}/api/v1/sign-in`)).body
    expect(await kinds({})).toEqual({ token: false, proxy: false })
    expect(await kinds({ tokens: PEOPLE })).toEqual({ token: true, proxy: false })
    expect(await kinds({ signIn: SIGN_IN, tokens: PEOPLE, basePath: '/lazaret' })).toEqual({
      token: true,
      oidc: { label: 'single sign-on', path: '/lazaret/auth/sign-in' },
      proxy: true,
    })
    expect((await serverWorld({ tokens: PEOPLE }).ask('/auth/sign-in')).status).toBe(404)
  })
})
