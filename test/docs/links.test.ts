import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'
import { anchorsOf, type Link, pagesBelow, readPage, relativeLinks } from './markdown.ts'

// A search that finds no link has nothing to complain about, so the tests expect a number of links first.
const FEWEST_LINKS = 300

const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'].map(readPage),
  ...['docs', 'examples', 'src/adapters'].flatMap(pagesBelow),
]
const links = pages.flatMap(relativeLinks)

it('every relative link leads to a file or folder of the repository', () => {
  expect(links.length).toBeGreaterThan(FEWEST_LINKS)
  expect(links.filter(({ path }) => !existsSync(join(ROOT, path))).map(written)).toEqual([])
})

it('every anchor of a link is a heading of its page', () => {
  const anchors = new Map(pages.map(page => [page.path, anchorsOf(page)]))
  const toHeadings = links.filter(({ anchor, path }) => anchor !== '' && path.endsWith('.md'))
  expect(toHeadings.filter(({ anchor, path }) => !anchors.get(path)?.has(anchor)).map(written)).toEqual([])
})

it('"no relative link is dead inside the published tarball"', async () => {
  const published = await publishedFiles()
  const isPublished = (path: string) =>
    published.has(path) || [...published].some(file => file.startsWith(`${path}/`))
  const inTarball = links.filter(({ page }) => published.has(page))
  expect(inTarball.length).toBeGreaterThan(FEWEST_LINKS)
  expect(inTarball.filter(({ path }) => !isPublished(path)).map(written)).toEqual([])
})

async function publishedFiles(): Promise<Set<string>> {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    maxBuffer: 64 * 1_024 * 1_024,
  })
  const [{ files }] = JSON.parse(stdout) as [{ files: readonly { path: string }[] }]
  return new Set(files.map(({ path }) => path))
}

function written({ page, path, anchor }: Link): string {
  return `${page} → ${path}${anchor === '' ? '' : `#${anchor}`}`
}
