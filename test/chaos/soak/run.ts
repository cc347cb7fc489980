import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { progress, runAsCommand } from '../campaign/command.ts'
import { planSoak, STORES, type StoreName } from './plan.ts'
import { findingsOf, reportOf } from './report.ts'
import { runSoak } from './soak.ts'

await runAsCommand({
  name: 'soak',
  words: STORES,
  numbers: { minutes: 120, perSecond: 20, seed: 1 },
  others: { samples: { type: 'string', default: 'a new file' } },
  async run({ minutes, perSecond, seed, samples }, stores) {
    const isGiven = samples !== 'a new file'
    const file = isGiven
      ? String(samples)
      : join(await mkdtemp(join(tmpdir(), 'lazaret-soak-')), 'soak.jsonl')
    const options = planSoak(stores as StoreName[], minutes * 60_000, perSecond, seed)
    const found = findingsOf(await runSoak(options, file, progress))
    return { report: reportOf(found), violations: found.flatMap(({ violations }) => violations) }
  },
})
