import { expect, it } from 'vitest'
import { optionFields } from './support/option-docs.ts'

const FEWEST_FIELDS = 500

it('"JSDoc on every public option, with default and unit": every option field has JSDoc', () => {
  const fields = optionFields()
  // A walk that loses its way finds nothing to complain about.
  expect(fields.length).toBeGreaterThan(FEWEST_FIELDS)
  expect(fields.filter(field => !field.isDocumented).map(field => field.place)).toEqual([])
})
