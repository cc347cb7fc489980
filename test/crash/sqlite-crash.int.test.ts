import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { EIO, ENOSPC, type Fault, findFiu, withFaults } from '../services/fiu.ts'
import { withTempFolder } from '../support/folder.ts'
import { idsAfter, outputOf, outputToEnd } from './child.ts'
import { readProcessReport, violations } from './process-report.ts'
import { crashConsuming, crashWriting, lostOrRepeated, publish, startConsumer } from './sqlite-crash.ts'

const WRITER = fileURLToPath(new URL('./sqlite-writer.ts', import.meta.url))
const KILLS = 8
const LETTERS = 400
const EVENTS = 600

describe('a process on a sqlite file that is killed', () => {
  it(`E21: after ${KILLS} kills during writes every acknowledged letter is there, and none is incomplete`, {}, async () => {
    const report = await crashWriting(KILLS, seededRandom(1))
    expect(report.violations).toEqual([])
    expect(report.acknowledged).toBeGreaterThan(KILLS)
  })

  it(`E21: after ${KILLS} kills during consuming every event is handled, and none again after its settlement`, {}, async () => {
    const report = await crashConsuming(KILLS, seededRandom(2))
    expect(report.violations).toEqual([])
    expect(report.acknowledged).toBeGreaterThan(KILLS)
  })
})

describe('two processes on one sqlite file', () => {
  it('S8: share the events: no event is handled twice, and none is lost', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'test.db')
      const consumers = [startConsumer(path), startConsumer(path)]
      const saidBy = ['', '']
      const settled = () => saidBy.flatMap(said => idsAfter('settled', said.split('\n').slice(0, -1)))
      const bothRun = Promise.withResolvers<void>()
      const ended = consumers.map((child, index) =>
        outputOf(child, output => {
          saidBy[index] = output
          if (saidBy.every(said => said.startsWith('started'))) bothRun.resolve()
          if (settled().length >= EVENTS) for (const each of consumers) each.kill('SIGTERM')
        }),
      )
      await bothRun.promise
      const published = new Set([...(await publish(path, EVENTS / 2)), ...(await publish(path, EVENTS / 2))])
      const outputs = await Promise.all(ended)
      const handled = outputs.map(output => idsAfter('handled', output.split('\n')))
      expect(lostOrRepeated(published, outputs.join('').split('\n'))).toEqual([])
      expect(handled.flat()).toHaveLength(EVENTS)
      for (const own of handled) expect(own.length).toBeGreaterThan(0)
    })
  })
})

const disks: Record<string, readonly Fault[]> = {
  'whose syncs fail with EIO': [{ name: 'posix/io/sync/*', probability: 0.2, errno: EIO }],
  'whose writes fail with EIO': [{ name: 'posix/io/rw/pwrite', probability: 0.02, errno: EIO }],
  'that is full': [{ name: 'posix/io/rw/pwrite', probability: 0.02, errno: ENOSPC }],
  'that fails at everything': [
    { name: 'posix/io/rw/pwrite/reduce', probability: 0.05 },
    { name: 'posix/io/rw/pwrite', probability: 0.01, errno: ENOSPC },
    { name: 'posix/io/rw/pread', probability: 0.01, errno: EIO },
    { name: 'posix/io/sync/*', probability: 0.1, errno: EIO },
    { name: 'posix/io/rw/ftruncate', probability: 0.5, errno: EIO },
  ],
}

/** A file of which the disk returns only a part looks damaged to its reader. */
const CLEAR = ['LAZARET_STORE_FAILED', 'LAZARET_STORE_DAMAGED']

const fiu = await findFiu()

describe.skipIf(!fiu.found)(`a disk that fails${fiu.found ? '' : ` (skipped: ${fiu.why})`}`, () => {
  for (const [name, faults] of Object.entries(disks)) {
    it(`E21: a sqlite file on a disk ${name}: nothing acknowledged is lost, and the error is clear`, {}, async () => {
      await withTempFolder(async dir => {
        const path = join(dir, 'test.db')
        const before = openSqlite({ path })
        await before.ready()
        await before.close()
        const { command, args, env } = withFaults(faults, [process.execPath, WRITER, path, String(LETTERS)])
        const output = await outputToEnd(command, args, env)
        const report = readProcessReport(output)
        expect(output).toMatch(/closed\n$/)
        expect(report.failures.length).toBeGreaterThan(0)
        for (const { code } of report.failures) expect(CLEAR).toContain(code)
        for (const { message } of report.failures) {
          expect(message).toContain(path)
          expect(message).toMatch(/check the disk|free disk space|check that the folder/)
        }
        const store = openSqlite({ path })
        expect(await violations(report, id => store.deadLetters.get(id))).toEqual([])
        await store.close()
      })
    })
  }
})
