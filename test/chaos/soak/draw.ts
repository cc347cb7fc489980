import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../../support/source.ts'
import { drawPicture } from './picture.ts'
import type { Line } from './plan.ts'
import { findingsOf, reportOf } from './report.ts'

// Draws the samples of soaks that have ended, and prints their report once more. The arguments are files of samples.
const { values, positionals } = parseArgs({
  options: {
    on: { type: 'string', default: 'an unknown day' },
    to: { type: 'string', default: join(ROOT, 'docs/pictures/soak') },
  },
  allowPositionals: true,
})
const lines = positionals.flatMap(file =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Line),
)
await mkdir(values.to, { recursive: true })
const found = findingsOf(lines)
for (const each of found)
  await writeFile(join(values.to, `soak-${each.store}.svg`), drawPicture(each, values.on))
for (const line of reportOf(found)) process.stdout.write(`${line}\n`)
for (const violation of found.flatMap(({ violations }) => violations))
  process.stdout.write(`VIOLATION: ${violation}\n`)
