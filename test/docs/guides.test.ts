import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'
import { codeBlocks, type Page, pagesBelow } from './markdown.ts'

/** Guides whose example is not a block on the page, and the test that runs it. */
const RUN_BY: Readonly<Record<string, string>> = {
  'docs/guides/adapters.md': 'test/custom-adapter.test.ts',
  'docs/guides/agents.md': 'test/agents/story.e2e.test.ts',
  'docs/guides/console.md': 'test/console/actions.e2e.test.ts',
  'docs/guides/demo.md': 'test/demo.e2e.test.ts',
  'docs/guides/sign-in.md': 'test/console/sign-in.e2e.test.ts',
  'docs/guides/tutorial.md': 'test/tutorial.e2e.test.ts',
}

const FOLDERS = ['docs/guides', 'docs/brokers', 'docs/stores', 'docs/sinks']
/** Pages that only lead to guides. */
const OVERVIEWS = ['docs/sinks/README.md']

const guides = FOLDERS.flatMap(pagesBelow).filter(({ path }) => !OVERVIEWS.includes(path))

describe.each(guides)('"Per guide" $path', page => {
  it('"who it is for, what you will have at the end"', () => {
    const [, introduction = ''] = page.text.split('\n\n')
    expect(introduction).toMatch(/^This (guide|tutorial) is for /)
    expect(introduction).toMatch(/At the end/)
  })

  it('"a complete example that runs in CI"', () => {
    const runner = RUN_BY[page.path]
    expect(hasExampleThatRuns(page) || (runner !== undefined && existsSync(join(ROOT, runner)))).toBe(true)
  })

  it('"the options as a table with defaults"', () => {
    expect(page.text).toMatch(/^#{2,3} Options\n[\s\S]*?^\| .*\|\n\| ---/m)
  })

  it('"what can go wrong"', () => {
    expect(page.text).toMatch(/^## What can go wrong\n\n(- \*\*|\w|\||\[)/m)
  })
})

/** `run` alone needs nothing; `run on redis` needs that server (test/examples/pages.int.test.ts); a path is a file that a test runs. */
function hasExampleThatRuns(page: Page): boolean {
  return codeBlocks(page).some(({ info }) => /^run( on \w+)?$/.test(info) || info.startsWith('examples/'))
}
