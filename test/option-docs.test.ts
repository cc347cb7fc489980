import { expect, it } from 'vitest'
import { exportedNames, optionFields } from './support/option-docs.ts'

// A search that loses its way finds nothing to complain about, so the tests expect a number of things first.
const FEWEST_FIELDS = 500
const FEWEST_EXPORTS = 500

const fields = optionFields()
const names = exportedNames()

it('"JSDoc on every public option, with default and unit": every option field has JSDoc', () => {
  expect(fields.length).toBeGreaterThan(FEWEST_FIELDS)
  expect(fields.filter(({ doc }) => doc === '').map(({ place }) => place)).toEqual([])
})

it('"JSDoc on every public option, with default and unit": optional ones name their default in [brackets]', () => {
  const optional = fields.filter(({ isOptional }) => isOptional)
  expect(optional.filter(({ doc }) => !/\[.+\]/s.test(doc)).map(({ place }) => place)).toEqual([])
})

it('every exported function, class, type and constant has JSDoc', () => {
  expect(names.length).toBeGreaterThan(FEWEST_EXPORTS)
  expect(names.filter(({ isDocumented }) => !isDocumented).map(({ place }) => place)).toEqual([])
})
