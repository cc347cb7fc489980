import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { EIO, ENOSPC, type Fault, findFiu, withFaults } from '../services/fiu.ts'
import { withTempFolder } from '../support/folder.ts'
import { outputToEnd } from './child.ts'
import { crashFileStore } from './file-crash.ts'
import { readProcessReport, violations } from './process-report.ts'

const WRITER = fileURLToPath(new URL('./file-writer.ts', import.meta.url))
const KILLS = 10
const LETTERS = 250

describe('a process that is killed during writes', () => {
  it(`E21: after ${KILLS} kills every acknowledged letter is there, and none is incomplete`, {}, async () => {
    const report = await crashFileStore(KILLS, seededRandom(1))
    expect(report.violations).toEqual([])
    expect(report.unexplained).toEqual([])
    expect(report.acknowledged).toBeGreaterThan(KILLS)
  })
})

const disks: Record<string, { readonly faults: readonly Fault[]; readonly codes: readonly string[] }> = {
  'whose syncs fail with EIO': {
    faults: [{ name: 'posix/io/sync/fdatasync', probability: 0.5, errno: EIO }],
    codes: ['LAZARET_STORE_FAILED'],
  },
  'whose writes fail with EIO': {
    faults: [{ name: 'posix/io/rw/pwrite', probability: 0.5, errno: EIO }],
    codes: ['LAZARET_STORE_FAILED'],
  },
  'that is full': {
    faults: [{ name: 'posix/io/rw/pwrite', probability: 0.5, errno: ENOSPC }],
    codes: ['LAZARET_DEAD_LETTERS_FULL'],
  },
  'that says it is full only when it syncs': {
    faults: [{ name: 'posix/io/sync/fdatasync', probability: 0.5, errno: ENOSPC }],
    codes: ['LAZARET_DEAD_LETTERS_FULL'],
  },
  'that writes a part, and fails at everything': {
    faults: [
      { name: 'posix/io/rw/pwrite/reduce', probability: 0.3 },
      { name: 'posix/io/rw/pwrite', probability: 0.1, errno: ENOSPC },
      { name: 'posix/io/sync/*', probability: 0.1, errno: EIO },
      { name: 'posix/io/dir/rename', probability: 0.1, errno: EIO },
      { name: 'posix/io/rw/ftruncate', probability: 0.5, errno: EIO },
    ],
    codes: ['LAZARET_DEAD_LETTERS_FULL', 'LAZARET_STORE_FAILED'],
  },
}

const fiu = await findFiu()

describe.skipIf(!fiu.found)(`a disk that fails${fiu.found ? '' : ` (skipped: ${fiu.why})`}`, () => {
  for (const [name, { faults, codes }] of Object.entries(disks)) {
    it(`E21: on a disk ${name}, nothing acknowledged is lost and the error is clear`, {}, async () => {
      await withTempFolder(async dir => {
        const { command, args, env } = withFaults(faults, [process.execPath, WRITER, dir, String(LETTERS)])
        const output = await outputToEnd(command, args, env)
        const report = readProcessReport(output)
        expect(output).toMatch(/closed\n$/)
        expect(report.failures.length).toBeGreaterThan(0)
        expect(
          [...new Set(report.failures.map(({ code }) => code))].filter(code => !codes.includes(code)),
        ).toEqual([])
        for (const { message } of report.failures) {
          expect(message).toContain(dir)
          expect(message).toMatch(/check the disk|free disk space/)
        }
        expect(report.sent.size).toBeGreaterThan(LETTERS / 4)
        const store = fileDeadLetters({ dir })
        expect(await violations(report, id => store.get(id))).toEqual([])
        await store.close()
      })
    })
  }
})
