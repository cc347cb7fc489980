// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in texts are what is tested
import { expect, it } from 'vitest'
import { codeBlocks, readPage } from '../../test/docs/markdown.ts'
import { parseConfig } from './config.ts'

const env = { LAZARET_SESSION_SECRET: 'x'.repeat(32), LAZARET_OIDC_SECRET: 'of-the-client' }
const parse = (text: string, given: Readonly<Record<string, string>> = env) =>
  parseConfig(text, 'lazaret.yaml', given)

it('F7: the ways to sign in are read from the file, with durations and the environment', () => {
  const { signIn } = parse(`
server:
  basePath: /lazaret
  signIn:
    publicUrl: https://ops.example.com/lazaret
    session: { secrets: ['\${LAZARET_SESSION_SECRET}'], maxAge: 10h, idle: 30m }
    oidc: { issuer: 'https://login.example.com', clientId: lazaret, roles: { sre: operator } }
`).server
  expect(signIn?.session).toEqual({ secrets: ['x'.repeat(32)], maxAgeMs: 36_000_000, idleMs: 1_800_000 })
  expect(signIn?.oidc).toMatchObject({ nameClaim: 'email', roleClaim: 'groups', roles: { sre: 'operator' } })
})

it('F7: a fault of the sign-in has its line, and shows no secret', () => {
  const text = `
server:
  signIn:
    publicUrl: https://ops.example.com
    session:
      secrets: ['\${LAZARET_SESSION_SECRET}']
    oidc:
      issuer: http://login.example.com
      clientId: lazaret
      roles: { sre: boss }
`
  const parseShort = () => parse(text, { LAZARET_SESSION_SECRET: 'hunter2' })
  expect(parseShort).toThrow(
    /lazaret\.yaml:6: server\.signIn\.session\.secrets\[0\]: got a hidden value; give a secret of 32/,
  )
  expect(parseShort).toThrow(
    /lazaret\.yaml:8: server\.signIn\.oidc\.issuer: got "http:\/\/login\.example\.com"; give the https URL/,
  )
  expect(parseShort).toThrow(
    /lazaret\.yaml:10: server\.signIn\.oidc\.roles\.sre: got "boss"; give one of 'viewer'/,
  )
  expect(parseShort).not.toThrow(/hunter2/)
})

it('F7: the examples of the guide are valid', () => {
  const blocks = codeBlocks(readPage('docs/guides/sign-in.md')).filter(({ language }) => language === 'yaml')
  expect(blocks).toHaveLength(4)
  for (const { text } of blocks) expect(() => parse(text)).not.toThrow()
})
