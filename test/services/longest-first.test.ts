import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'
import { LONGEST } from './longest-first.ts'

it('the files that start first are there', () => {
  expect(LONGEST.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
})
