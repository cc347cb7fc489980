import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { file } from '../../src/adapters/sinks/index.ts'
import { decodeEvent } from '../../src/core/event/json.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { linesOf, withTempFolder } from '../support/folder.ts'
import { neverAborted } from '../support/sink-writes.ts'
import { idsAfter, killAfter, start } from './child.ts'

const WRITER = fileURLToPath(new URL('./sink-writer.ts', import.meta.url))
const KILLS = 5

describe('a process that writes to a sink', () => {
  it(`E21: killed ${KILLS} times while it writes a file: every written event is there, in whole lines`, {}, async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const written: string[] = []
      for (let life = 1; life <= KILLS; life++) {
        const said = await killAfter(start(WRITER, 'file', path, String(life)), 200 * life)
        written.push(...idsAfter('wrote', said.split('\n').slice(0, -1)))
      }
      const last = createFactory().event({ id: 'after-all-of-them' })
      const sink = file({ path })
      await sink.write([last], neverAborted())
      await sink.close()
      const lines = (await Promise.all((await readdir(dir)).map(name => linesOf(join(dir, name))))).flat()
      const ids = new Set(lines.map(line => decodeEvent(line).id))
      expect(written.length).toBeGreaterThan(200 * KILLS)
      expect(written.filter(id => !ids.has(id))).toEqual([])
      expect(ids.has(last.id)).toBe(true)
    })
  })

  it('E2: a pipe without a reader is reported as an error and does not end the process', {}, async () => {
    const child = spawn(process.execPath, ['--no-warnings', WRITER, 'stdout'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let report = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      report += text
    })
    await once(child.stdout, 'data')
    child.stdout.destroy()
    const [code] = await once(child, 'close')
    expect(report).toBe('PermanentError: standard output: its reader has ended; check why the reader ended\n')
    expect(code).toBe(0)
  })
})
