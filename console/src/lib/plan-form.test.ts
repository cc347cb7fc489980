import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EMPTY_PLAN, readPatch, readPlan, readStages, stageSizes } from './plan-form.ts'

const selection = { filter: { group: 'f1' } }

describe('readPlan', () => {
  it('B11: the form starts with the defaults of the command line', () => {
    const { body, faults } = readPlan({ ...EMPTY_PLAN, reason: ' fixed ' }, selection)
    expect(faults).toEqual({})
    expect(body).toEqual({
      filter: { group: 'f1' },
      stages: [1, 10, 100, 'rest'],
      perSecond: 50,
      haltRefailRatio: 0.2,
      haltOnSameFingerprint: true,
      allowQuarantined: false,
      maxAgeMs: 86_400_000,
      reason: 'fixed',
    })
  })

  it('B10: a reason is required, and all faults are reported at once by field', () => {
    const { faults } = readPlan(
      {
        ...EMPTY_PLAN,
        stages: '1,,2',
        perSecond: '0',
        haltPercent: '120',
        maxAge: 'long',
        change: 'patch',
        patch: '{',
      },
      { ids: ['a'] },
    )
    expect(Object.keys(faults).sort()).toEqual([
      'haltPercent',
      'maxAge',
      'patch',
      'perSecond',
      'reason',
      'stages',
    ])
  })

  it('K8: the plan demands the check of a schema only if the user did', () => {
    expect(readPlan(EMPTY_PLAN, selection).body).not.toHaveProperty('requireSchema')
    expect(readPlan({ ...EMPTY_PLAN, requireSchema: true }, selection).body.requireSchema).toBe(true)
  })

  it('B13: the plan has a patch only if the user enabled it', () => {
    const patch = '[{"op":"remove","path":"/total"}]'
    expect(readPlan({ ...EMPTY_PLAN, patch }, selection).body.patch).toBeUndefined()
    expect(readPlan({ ...EMPTY_PLAN, patch, change: 'patch' }, selection).body.patch).toEqual([
      { op: 'remove', path: '/total' },
    ])
    expect(readPlan({ ...EMPTY_PLAN, change: 'patch' }, selection).faults.patch).toContain(
      'Enter a JSON Patch',
    )
    expect(readPatch('[]').fault).toContain('list of operations')
    expect(readPatch('[{"op":"drop","path":"/a"}]').fault).toContain('Operation 1')
    expect(readPatch('null').fault).toContain('list of operations')
    expect(readPatch('[null]').fault).toContain('Operation 1')
  })
})

describe('stages', () => {
  it('B11: have the syntax of the command line', () => {
    expect(readStages('1, 10,rest')).toEqual([1, 10, 'rest'])
    expect(['', '0', '1;2', 'all'].map(readStages)).toEqual(Array(4).fill(undefined))
  })

  it('B11: their sizes add up to the selection', () => {
    expect(stageSizes([1, 10, 100, 'rest'], 500)).toEqual([1, 10, 100, 389])
    expect(stageSizes([1, 10], 5)).toEqual([1, 4])
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 6 }),
        fc.nat(1_000),
        (stages, count) => {
          const total = stageSizes(stages, count).reduce((sum, size) => sum + size, 0)
          expect(total).toBe(count)
        },
      ),
    )
  })
})
