import { describe, expect, it } from 'vitest'
import { traceUrl } from './trace-url.ts'

describe('traceUrl', () => {
  it('F8: puts the escaped id into the URL', () => {
    expect(traceUrl('https://traces/x/{traceId}?v=1', '4bf9')).toBe('https://traces/x/4bf9?v=1')
    expect(traceUrl('https://traces/{traceId}', '../a?b#c')).toBe('https://traces/..%2Fa%3Fb%23c')
  })

  it('F8: only web URLs with a place for the id become links', () => {
    const wrong = [
      '',
      'https://traces/',
      'javascript:alert({traceId})',
      'ftp://x/{traceId}',
      'http://{traceId}:x',
    ]
    expect(wrong.map(address => traceUrl(address, '4bf9'))).toEqual(Array(5).fill(undefined))
  })
})
