import { expect, it } from 'vitest'
import { resultLines } from './format-command-result.ts'

it.each([
  ['validate', undefined],
  ['validate', { letters: [{ id: 1, validity: 'valid' }, null] }],
  ['resend', null],
  ['resend', { letters: 'none' }],
  ['probe', undefined],
  ['probe', { consumers: [null] }],
])('B17: a result of another version is told, and does not end the command: %s %j', (kind, result) => {
  expect(resultLines(kind, { ok: true, result })).toEqual([
    '  the answer has a form that this version does not know\n',
  ])
})
