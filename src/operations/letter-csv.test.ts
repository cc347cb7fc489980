import fc from 'fast-check'
import { expect, it } from 'vitest'
import { csvCell } from './letter-csv.ts'

it.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@sum', "'@sum"],
  ['\tx', "'\tx"],
  ['\rx', '"\'\rx"'],
  ['\n=1', '"\'\n=1"'],
  [' =1', "' =1"],
  ['＝1', "'＝1"],
  ['＋1', "'＋1"],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  ['plain', 'plain'],
])('F8: the cell of %j is %j', (text, cell) => {
  expect(csvCell(text)).toBe(cell)
})

it('F8: a number stays a number, and nothing is empty', () => {
  expect(csvCell(-3)).toBe('-3')
  expect(csvCell(undefined)).toBe('')
})

it('F8: no text begins a formula, and each is read back as it was', () => {
  fc.assert(
    fc.property(fc.string(), text => {
      const cell = csvCell(text)
      const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
      expect(read).not.toMatch(/^\s*[=+\-@＝＋－＠]/)
      expect(read === text || read === `'${text}`).toBe(true)
    }),
  )
})
