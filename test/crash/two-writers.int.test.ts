import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { withTempFolder } from '../support/folder.ts'
import { outputOf } from './child.ts'
import { readProcessReport, violations } from './process-report.ts'

const WRITER = fileURLToPath(new URL('./file-writer.ts', import.meta.url))
const REPLAYER = fileURLToPath(new URL('./file-replayer.ts', import.meta.url))
const LETTERS = 300

function run(script: string, ...args: string[]): Promise<string> {
  return outputOf(spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] }))
}

describe('several processes on one file store', () => {
  it('E10: write in turn, and lose no letter of each other', async () => {
    await withTempFolder(async dir => {
      const outputs = await Promise.all([1, 2, 3].map(() => run(WRITER, dir, String(LETTERS))))
      const tellings = outputs.map(readProcessReport)
      const damage: unknown[] = []
      const store = fileDeadLetters({ dir, onDamage: found => damage.push(found) })
      for (const report of tellings) {
        expect(report.failures).toEqual([])
        expect(report.sent.size).toBe(LETTERS)
        expect(await violations(report, id => store.get(id))).toEqual([])
      }
      const deleted = tellings.reduce((sum, report) => sum + report.deleted.size, 0)
      expect((await store.stats()).count).toBe(3 * LETTERS - deleted)
      expect(damage).toEqual([])
      await store.close()
    })
  })

  it('K8: of several runners that replay the same letters, one does', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const store = fileDeadLetters({ dir })
      const letters = Array.from({ length: 40 }, () => make.letter())
      for (const letter of letters) await store.send(letter)
      const outputs = await Promise.all([1, 2, 3].map(() => run(REPLAYER, dir)))
      const won = outputs.flatMap(output => output.split('\n').filter(line => line !== ''))
      expect(won.sort()).toEqual(letters.map(({ id }) => id).sort())
      for (const { id } of letters)
        expect(await store.get(id)).toMatchObject({ state: 'replaying', replays: 1 })
      await store.close()
    })
  })
})
