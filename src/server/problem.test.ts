import { expect, it } from 'vitest'
import { LetterError } from '../core/dead-letter/errors.ts'
import { problemOf } from './problem.ts'

it('F8: a stored letter that cannot be read is not a fault of the server, and its content is not shown', () => {
  const fault = { path: 'letter.event.payload', received: "'hunter2'", remedy: 'give an object' }
  const problem = problemOf(new LetterError('stored dead letter', [fault]))
  expect(problem.kind).toBe('unprocessable')
  expect(problem.message).not.toContain('hunter2')
})
