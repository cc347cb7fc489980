import { expect, it } from 'vitest'
import { exportedNames, optionFields } from './support/option-docs.ts'

// A search that loses its way finds nothing to complain about, so each test expects a number of things first.
const FEWEST_FIELDS = 500
const FEWEST_EXPORTS = 400

it('"JSDoc on every public option, with default and unit": every option field has JSDoc', () => {
  const fields = optionFields()
  expect(fields.length).toBeGreaterThan(FEWEST_FIELDS)
  expect(fields.filter(({ doc }) => doc === '').map(({ place }) => place)).toEqual([])
})

it('"JSDoc on every public option, with default and unit": optional ones name their default in [brackets]', () => {
  const optional = optionFields().filter(({ isOptional }) => isOptional)
  expect(optional.filter(({ doc }) => !/\[.+\]/s.test(doc)).map(({ place }) => place)).toEqual([])
})

it('every exported function, class and type has JSDoc', () => {
  const names = exportedNames()
  expect(names.length).toBeGreaterThan(FEWEST_EXPORTS)
  expect(names.filter(({ isDocumented }) => !isDocumented).map(({ place }) => place)).toEqual([])
})
