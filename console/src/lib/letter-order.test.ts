import { describe, expect, it } from 'vitest'
import { LETTER_SORTS } from '../../../src/ports/dead-letters.ts'
import { orderAfterClick, orderParams, readOrder, SORT_WORDS } from './letter-order.ts'

describe('the order of letters in a URL', () => {
  it('E9: has every column that the server knows', () => {
    expect(Object.keys(SORT_WORDS)).toEqual([...LETTER_SORTS])
  })

  it('E9: is newest first without parameters, and a click turns it or takes another column', () => {
    const usual = readOrder('')
    expect(usual).toEqual({ sort: 'lastFailed', isDescending: true, startAt: undefined })
    expect(orderParams(usual)).toEqual({})
    expect(orderParams(orderAfterClick(usual, 'lastFailed'))).toEqual({ order: 'asc' })
    const byChannel = orderAfterClick(usual, 'channel')
    expect(orderParams(byChannel)).toEqual({ sort: 'channel' })
    expect(orderParams(orderAfterClick(byChannel, 'channel'))).toEqual({ sort: 'channel', order: 'desc' })
  })

  it('E9: starts at a time only where it is by time', () => {
    const at = '2026-01-02T11:00:00.000Z'
    expect(readOrder(`?sort=firstFailed&startAt=${at}`).startAt).toBe(at)
    expect(readOrder(`?sort=channel&startAt=${at}`).startAt).toBeUndefined()
    expect(readOrder('?sort=colour&order=asc')).toMatchObject({ sort: 'lastFailed', isDescending: false })
  })
})
