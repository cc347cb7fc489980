import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { BUILT_CONSOLE, expectFreshConsole } from '../support/console-page.ts'

const MOST_BYTES = 150_000

/** What index.html asks for by itself, itself included; other screens come when they are asked for. */
function firstLoad(): string[] {
  const html = readFileSync(join(BUILT_CONSOLE, 'index.html'), 'utf8')
  const named = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(match => match[1]!)
  return ['index.html', ...named]
}

describe('the built console', () => {
  it('F8: its first load is under 150 kB', () => {
    expectFreshConsole()
    const sizes = firstLoad().map(file => gzipSync(readFileSync(join(BUILT_CONSOLE, file))).length)
    expect(sizes.length).toBeGreaterThan(3)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES)
  })

  it('F8: contains nothing that a strict content security policy refuses', () => {
    const html = readFileSync(join(BUILT_CONSOLE, 'index.html'), 'utf8')
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/)
    for (const file of firstLoad().filter(name => name.endsWith('.css')))
      expect(readFileSync(join(BUILT_CONSOLE, file), 'utf8')).not.toMatch(/url\(["']?(data|https?):/)
  })
})
