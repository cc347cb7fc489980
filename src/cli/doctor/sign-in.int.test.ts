import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OidcIssuer, startIssuer } from '../../../test/support/oidc-issuer.ts'
import { parseConfig } from '../../config/config.ts'
import { checkSignIn } from './sign-in.ts'

let issuer: OidcIssuer
beforeEach(async () => {
  issuer = await startIssuer()
})
afterEach(() => issuer.close())

const check = (url: string) =>
  checkSignIn(
    parseConfig(
      `server:
  signIn:
    publicUrl: http://127.0.0.1:4600
    session: { secrets: [${'s'.repeat(32)}] }
    oidc: { issuer: '${url}', clientId: lazaret, clientSecret: hush-of-the-client, defaultRole: viewer }`,
      'lazaret.yaml',
      {},
    ),
  )

describe('the doctor', () => {
  it('F8: says whether the OpenID issuer answers, with a remedy and without the secret', async () => {
    expect(await check(issuer.url)).toEqual([
      { name: 'sign-in', status: 'ok', found: `${issuer.url} answers` },
    ])
    issuer.behaviour.isDown = true
    const found = await check(issuer.url)
    expect(found).toMatchObject([
      { name: 'sign-in', status: 'fail', remedy: expect.stringContaining('server.signIn.oidc.issuer') },
    ])
    expect(found[0]!.found).toContain(issuer.url)
    expect(JSON.stringify(found)).not.toContain('hush')
  })

  it('F8: checks no issuer where none is configured', async () => {
    expect(await checkSignIn(parseConfig('', 'lazaret.yaml', {}))).toEqual([])
  })
})
