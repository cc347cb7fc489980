import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withTempFolder } from './campaign/folder.ts'
import { drawPicture } from './soak/picture.ts'
import { planSoak } from './soak/plan.ts'
import { findingsOf, reportOf } from './soak/report.ts'
import { runSoak } from './soak/soak.ts'

/** The short form of `npm run soak`; docs/campaigns.md has the report of the long one. Too short to see a small leak. */
it('E21: under mixed load and faults on SQLite nothing is lost, and a sample has everything that must be flat', async () => {
  await withTempFolder(async folder => {
    const file = join(folder, 'soak.jsonl')
    const lines = await runSoak(planSoak(['sqlite'], 20_000, 40, 1), file, () => {})
    const found = findingsOf(lines)
    const [sqlite] = found
    const lost = sqlite!.violations.filter(text => !text.includes('rises'))
    expect(lost, reportOf(found).join('\n')).toEqual([])
    expect(sqlite!.end).toMatchObject({ missing: 0, lost: 0 })
    expect(sqlite!.judged.map(({ series, verdict }) => [series, verdict === 'short'])).toEqual([
      ['heap', false],
      ['rss', false],
      ['descriptors', false],
      ['handles', false],
      ['size', false],
      ['delay', false],
    ])
    expect(sqlite!.judged.find(({ series }) => series === 'descriptors')).toMatchObject({ hasFailed: false })
    expect(readFileSync(file, 'utf8').trim().split('\n').length).toBe(lines.length)
    expect(drawPicture(sqlite!, 'today')).toContain('</svg>')
  })
})
