import { describe, expect, it } from 'vitest'
import { classify } from '../classify.ts'

const pg = (code: string) =>
  classify(Object.assign(new Error('x'), { name: 'error', severity: 'ERROR', code }))
const bare = (code: string) => classify(Object.assign(new Error('x'), { code }))

describe('Postgres SQLSTATE', () => {
  it.each([
    ['08006', 'transient', true],
    ['08P01', 'transient', true],
    ['0A000', 'integration', false],
    ['21000', 'integration', false],
    ['22P02', 'schema', false],
    ['22001', 'schema', false],
    ['23505', 'business', false],
    ['23503', 'business', false],
    ['25006', 'transient', true],
    ['25P02', 'integration', true],
    ['25P03', 'transient', true],
    ['26000', 'integration', true],
    ['28P01', 'integration', true],
    ['3D000', 'integration', true],
    ['40001', 'transient', true],
    ['40P01', 'transient', true],
    ['40002', 'business', false],
    ['42P01', 'integration', false],
    ['42501', 'integration', false],
    ['44000', 'business', false],
    ['53300', 'transient', true],
    ['54000', 'schema', false],
    ['55000', 'integration', false],
    ['55006', 'transient', true],
    ['55P03', 'transient', true],
    ['57014', 'transient', true],
    ['57P01', 'transient', true],
    ['57P03', 'transient', true],
    ['58030', 'integration', true],
    ['F0000', 'integration', true],
    ['HV000', 'integration', true],
    ['P0001', 'business', false],
    ['XX000', 'integration', true],
  ])('F2/S3: %s is %s, retryable %s', (code, category, retryable) => {
    expect(pg(code)).toMatchObject({ code, category, retryable, decidedBy: 'sqlstate' })
  })

  it('F2/S3: the codes of everyday are known without a driver’s mark; another five characters are not', () => {
    expect(bare('40001')).toMatchObject({ retryable: true, decidedBy: 'sqlstate' })
    expect(bare('23505')).toMatchObject({ retryable: false, decidedBy: 'sqlstate' })
    for (const code of ['40400', '42201', '22999', 'EPERM', 'P2002'])
      expect(bare(code).decidedBy).toBe('unknown')
  })

  it('F2/S3: a class without an entry is unknown, and a system code is not an SQLSTATE', () => {
    expect(pg('99000').decidedBy).toBe('unknown')
    expect(pg('EPIPE').decidedBy).toBe('system-code')
  })

  it('F2/S3: drivers that keep the state under its own name are understood', () => {
    const mysql = Object.assign(new Error('dup'), { code: 'ER_DUP_ENTRY', sqlState: '23000' })
    expect(classify(mysql)).toMatchObject({ retryable: false, category: 'business', code: 'ER_DUP_ENTRY' })
  })
})
