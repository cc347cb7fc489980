import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LetterFields, separateFields } from './separating-fields.ts'

const fieldsOf = (fields: Readonly<Record<string, string>>): LetterFields =>
  new Map(Object.entries(fields).map(([name, value]) => [name, [value]]))
const many = (count: number, make: (index: number) => Readonly<Record<string, string>>) =>
  Array.from({ length: count }, (_, index) => fieldsOf(make(index)))

/** Letters with a few fields of few values, some of them masked. */
const letters = fc.array(
  fc
    .dictionary(
      fc.constantFrom('payload.a', 'payload.b', 'header.c', 'payload.secret'),
      fc.constantFrom('1', '2', '"x"', '"y"'),
    )
    .map(fields => fieldsOf('payload.secret' in fields ? { ...fields, 'payload.secret': '"***"' } : fields)),
  { maxLength: 40 },
)

describe('what separates failed from recovered letters', () => {
  it('F8: is the value that is frequent in one sample and rare in the other', () => {
    const failed = many(50, index => ({
      'payload.country': index < 48 ? '"DE"' : '"FR"',
      'payload.id': `${index}`,
    }))
    const recovered = many(50, index => ({
      'payload.country': index < 2 ? '"DE"' : '"FR"',
      'payload.id': `${index + 50}`,
    }))
    expect(separateFields(failed, recovered).fields).toEqual([
      { field: 'payload.country', value: '"DE"', failed: 48, recovered: 2 },
    ])
  })

  it('F8: can be that the field is missing', () => {
    const failed = many(10, () => ({ 'payload.a': '1' }))
    const recovered = many(10, index => ({ 'payload.a': '1', 'payload.vat': `${index}` }))
    expect(separateFields(failed, recovered).fields).toEqual([
      { field: 'payload.vat', value: undefined, failed: 10, recovered: 0 },
    ])
  })

  it('F8: is not told of a few letters, nor of a difference that chance explains', () => {
    const of = (count: number, value: string) => many(count, () => ({ 'payload.a': value }))
    expect(separateFields(of(4, '1'), of(50, '2')).fields).toEqual([])
    expect(separateFields(of(5, '1'), of(5, '2')).fields).toHaveLength(1)
    const mixed = (ones: number) => many(6, index => ({ 'payload.a': index < ones ? '1' : '2' }))
    expect(separateFields(mixed(4), mixed(1)).fields).toEqual([])
  })

  it('F8: a planted difference is found in any noise', () => {
    fc.assert(
      fc.property(letters, letters, (noise, other) => {
        const plant = (value: string) => (letter: LetterFields) =>
          new Map([...letter, ['metadata.planted', [value]]])
        fc.pre(noise.length >= 5 && other.length >= 5)
        const { fields } = separateFields(noise.map(plant('1')), other.map(plant('2')))
        expect(fields.map(({ field }) => field)).toContain('metadata.planted')
      }),
    )
  })

  it('P2: a masked field is never told of, however well it separates', () => {
    fc.assert(
      fc.property(letters, letters, (failed, recovered) => {
        const hidden = (letter: LetterFields) => new Map([...letter, ['payload.secret', ['"***"']]])
        const { fields } = separateFields(failed.map(hidden), recovered)
        if (failed.length > 0) expect(fields.map(({ field }) => field)).not.toContain('payload.secret')
      }),
    )
  })

  it('F8: its counts are those of the samples, and the two sides can be swapped', () => {
    fc.assert(
      fc.property(letters, letters, (failed, recovered) => {
        const { fields } = separateFields(failed, recovered)
        const counted = (sample: readonly LetterFields[], field: string, value: string | undefined) =>
          sample.filter(letter => ((letter.get(field) ?? [undefined]) as readonly unknown[]).includes(value))
            .length
        for (const each of fields) {
          expect(each.failed).toBe(counted(failed, each.field, each.value))
          expect(each.recovered).toBe(counted(recovered, each.field, each.value))
        }
        const swapped = separateFields(recovered, failed).fields
        expect(swapped.map(({ field }) => field)).toEqual(fields.map(({ field }) => field))
      }),
    )
  })
})
