import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseJson } from './parse-json.ts'

it.each([
  ['hunter2secret', 'Unexpected token in JSON at position 0'],
  ['{"pin":4711,"amount":NaN,"first_name":"Roswitha"}', 'Unexpected token in JSON at position 21'],
  ['[1,]', 'Unexpected token in JSON at position 3'],
  ['nulx', 'Unexpected token in JSON at position 3'],
  [`"${'x'.repeat(70_000)}" Roswitha`, 'Unexpected non-whitespace character after JSON at position 70003'],
  [`["${'x'.repeat(70_000)}",Roswitha]`, 'Unexpected token in JSON'],
  ['{"first_name":"Roswitha",}', 'Expected double-quoted property name in JSON at position 25'],
  ['', 'Unexpected end of JSON input'],
])('E20: the fault of %.20s… has its kind and its position, and quotes nothing', (text, fault) => {
  expect(() => parseJson(text)).toThrow(fault)
})

it('E20: no text that is not JSON is quoted, and an unexpected token is where the text was damaged', () => {
  const damaged = fc.tuple(fc.jsonValue(), fc.nat(), fc.constantFrom('§', 'Roswitha', '+', ']'))
  fc.assert(
    fc.property(damaged, ([value, at, inserted]) => {
      const text = JSON.stringify(value)
      const position = at % (text.length + 1)
      const broken = text.slice(0, position) + inserted + text.slice(position)
      const fault = faultOf(broken)
      if (fault === undefined) return
      const named = /^[A-Z][A-Za-z ',:}\]-]* JSON(?: input| at position (\d+)(?: \(.*\))?)$/.exec(fault)
      expect(named, fault).not.toBeNull()
      if (fault.startsWith('Unexpected token')) expect(Number(named![1])).toBeGreaterThanOrEqual(position)
    }),
    { seed: 20, numRuns: 1_000 },
  )
})

it('E9: JSON is parsed as JSON.parse does', () => {
  expect(parseJson('{"a":[1,"b",null]}')).toEqual({ a: [1, 'b', null] })
})

function faultOf(text: string): string | undefined {
  try {
    parseJson(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
