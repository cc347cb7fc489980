import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'
import { codeBlocks, pagesBelow, readPage } from './markdown.ts'

/** A block that names a file after its language, as in "```ts examples/nestjs/main.ts", shows that whole file. */
const shown = [readPage('README.md'), ...pagesBelow('docs')]
  .flatMap(codeBlocks)
  .filter(({ info }) => info.startsWith('examples/'))

it.each(shown)('"a complete example that runs in CI": $page shows $info as it is', ({ info, text }) => {
  expect(text).toBe(readFileSync(join(ROOT, info), 'utf8'))
})
