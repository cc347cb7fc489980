import { expect, it } from 'vitest'
import { localInput, momentOfInput } from './local-time.ts'

it('F8: a date picker shows the moment of the address, and gives it back', () => {
  const moment = '2026-03-01T09:30:00.000Z'
  expect(localInput(moment)).toMatch(/^2026-0[23]-\d\dT\d\d:\d\d$/)
  expect(momentOfInput(localInput(moment))).toBe(moment)
  for (const none of [undefined, '', '1h', 'soon']) expect(localInput(none)).toBe('')
  expect(momentOfInput('')).toBe('')
})
