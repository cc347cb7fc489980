import { describe, expect, it } from 'vitest'
import { OptionsError } from '../../../core/options/faults.ts'
import { http, webhook } from './http.ts'
import type { HttpSinkOptions, WebhookOptions } from './options.ts'
import { signatureHeaders, signingKeyRule } from './signature.ts'

function faultsOf(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError)
    return (error as Error).message
  }
  return ''
}

describe('http sink options', () => {
  it('F7: every fault at once, and no secret in them', () => {
    const options = {
      url: 'ftp://user:hunter2@host',
      token: 'line\nbreak-hunter2',
      secret: ['whsec_short', 'hunter2'],
      headers: { 'Content-Type': 'x', 'bad name': 'hunter2' },
      request: 'all',
      format: 'xml',
      concurency: 2,
      maxRequestBytes: 0,
      probe: 'health',
    }
    const message = faultsOf(() => http(options as unknown as HttpSinkOptions))
    expect(message).not.toContain('hunter2')
    expect(message.split('\n').map(line => line.trim().split(':')[0])).toEqual([
      'http',
      'http.concurency',
      'http.url',
      'http.token',
      'http.headers',
      'http.headers',
      'http.secret[0]',
      'http.secret[1]',
      'http.request',
      'http.format',
      'http.maxRequestBytes',
      'http.probe',
    ])
    expect(message).toContain("did you mean 'concurrency'?")
  })

  it('F7: what does not go together', () => {
    const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
    const url = 'https://user:word@host/hook'
    expect(faultsOf(() => http({ url, token: 'x' }))).toContain('either a token or credentials')
    expect(faultsOf(() => webhook({ url, secret, gzip: true }))).toContain(
      'the signature covers the uncompressed body',
    )
    expect(faultsOf(() => webhook({ url } as WebhookOptions))).toContain('whsec_')
  })

  it('E17: the batch shape', () => {
    const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
    expect(http({ url: 'http://host' }).batch).toEqual({ maxCount: 500, maxBytes: 1_048_576 })
    expect(webhook({ url: 'http://host', secret }).batch?.maxCount).toBe(8)
  })
})

describe('Standard Webhooks', () => {
  it('S7: signs as the reference libraries do', () => {
    const key = signingKeyRule.read('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'secret', { list: [] } as never)
    const body = Buffer.from('{"test": 2432232314}')
    expect(signatureHeaders([key], 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330_000, body)).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })
})
