import { describe, expect, it } from 'vitest'
import { COMMANDS, meaningOf, PLACES } from './keys.ts'

const press = (key: string, more = {}) => ({ key, isChord: false, isTyping: false, ...more })

describe('keys', () => {
  it('F8: g followed by a letter opens a screen', () => {
    expect(meaningOf(press('g'), false)).toBe('wait')
    for (const [key, { href }] of Object.entries(PLACES))
      expect(meaningOf(press(key), true)).toEqual({ go: href })
    expect(meaningOf(press('x'), true)).toBeUndefined()
    expect(meaningOf(press('constructor'), true)).toBeUndefined()
  })

  it('F8: / focuses the search and ? shows the help', () => {
    expect(meaningOf(press('/'), false)).toBe('search')
    expect(meaningOf(press('?'), false)).toBe('help')
  })

  it('F8: j and k move along the rows, x selects one, r replays and c compares', () => {
    const commands = ['j', 'k', 'x', 'r', 'c'].map(key => meaningOf(press(key), false))
    expect(commands).toEqual(['next row', 'previous row', 'select row', 'replay', 'compare'])
    expect(meaningOf(press('valueOf'), false)).toBeUndefined()
    for (const key of Object.keys(COMMANDS))
      expect(meaningOf(press(key, { isTyping: true }), false)).toBeUndefined()
  })

  it('F8: input in a field, or with the control key, is never a command', () => {
    expect(meaningOf(press('g', { isTyping: true }), false)).toBeUndefined()
    expect(meaningOf(press('/', { isChord: true }), false)).toBeUndefined()
    expect(meaningOf(press('l', { isTyping: true }), true)).toBeUndefined()
  })
})
