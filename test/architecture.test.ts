import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importsOf, ROOT } from './support/source.ts'

const PAGE = 'docs/architecture.md'
const LONGEST_WAY = 12

/** Each way of the page: its title, and its files in reading order. */
function waysOf(page: string): { readonly title: string; readonly files: readonly string[] }[] {
  return page
    .split(/^## /m)
    .filter(section => section.startsWith('The way of'))
    .map(section => ({
      title: section.slice(0, section.indexOf('\n')),
      files: [...section.matchAll(/^\d+\. \[`[^`]+`\]\(\.\.\/([^)]+)\)/gm)].map(([, file]) => file!),
    }))
}

function isImportedBy(file: string, importer: string): boolean {
  const text = readFileSync(join(ROOT, importer), 'utf8')
  return importsOf({ path: importer, text, lines: 0 }).some(
    specifier => posix.join(posix.dirname(importer), specifier) === file,
  )
}

describe('the page on the architecture', () => {
  const ways = waysOf(readFileSync(join(ROOT, PAGE), 'utf8'))

  it('shows four ways: a consumed event, a tracked event, a replay, an HTTP request', () => {
    expect(ways.map(({ title }) => title)).toEqual([
      'The way of a consumed event',
      'The way of a tracked event',
      'The way of a replay',
      'The way of an HTTP request',
    ])
  })

  it.each(ways)(
    '$title: at most twelve files, which exist and import each other in this order',
    ({ files }) => {
      expect(files.length).toBeGreaterThan(4)
      expect(files.length).toBeLessThanOrEqual(LONGEST_WAY)
      expect(files.filter(file => !existsSync(join(ROOT, file)))).toEqual([])
      const strays = files.slice(1).filter((file, index) => {
        const earlier = files.slice(0, index + 1)
        return !earlier.some(importer => isImportedBy(file, importer))
      })
      expect(strays, 'no earlier file of the way imports these').toEqual([])
    },
  )
})
