import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withTempFolder } from '../support/folder.ts'
import { collectUntil } from './collector-campaign.ts'

it('E21: a campaign against a collector that misses letters ends, and says how many it saved', async () => {
  await withTempFolder(async folder => {
    const script = join(folder, 'collector.mjs')
    await writeFile(script, "process.stdout.write('100 5\\n')\nsetInterval(() => {}, 1_000)\n")
    const from = { url: '', source: '', path: '', script, silenceMs: 500 }
    await expect(collectUntil(from, 1_000, 'SIGTERM')).rejects.toThrow(
      'the collector saved 100 of 1000 letters, and then none for 500 ms',
    )
  })
})
