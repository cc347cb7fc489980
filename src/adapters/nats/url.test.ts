import { expect, it } from 'vitest'
import { resolveNats } from './options.ts'
import { readUrl } from './url.ts'

it('a URL has servers, a scheme and a login for all of them', () => {
  expect(readUrl('tls://me:p%40ss:word@n1:4222,n2:4222')).toEqual({
    servers: ['n1:4222', 'n2:4222'],
    usesTls: true,
    user: 'me',
    password: 'p@ss:word',
    token: undefined,
  })
  expect(readUrl('nats://s3cret@localhost')).toMatchObject({ servers: ['localhost'], token: 's3cret' })
  expect(readUrl('nats://n1,nats://me:pass@[::1]:4222, n3')).toMatchObject({
    servers: ['n1', '[::1]:4222', 'n3'],
    user: 'me',
  })
})

it.each([
  '',
  'localhost:4222',
  'http://localhost',
  'nats://',
  'nats://a b',
  'nats://%zz@host',
  'nats://me:s3,cret@localhost:4222',
  'nats://me:33,44@localhost:4222',
  'nats://me:s3,cret,33@localhost:4222',
])('F3: %j is refused without being shown', url => {
  expect(readUrl(url)).toBeUndefined()
  expect(() => resolveNats({ url })).toThrow(/url: .*give a URL such as nats:\/\/localhost:4222/)
})

it('P1: no message is sent again for longer than a stream recognises it', () => {
  expect(() => resolveNats({ url: 'nats://localhost', publishTimeoutMs: 120_000 })).toThrow(
    /publishTimeoutMs/,
  )
})
