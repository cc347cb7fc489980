import { execFileSync } from 'node:child_process'
import {
  constants,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { linesOf, withTempFolder } from '../../../../test/support/folder.ts'
import { neverAborted, rejection } from '../../../../test/support/sink-writes.ts'
import { decodeEvent } from '../../../core/event/json.ts'
import { classify } from '../../../core/failure/classify.ts'
import { createFactory } from '../../../testing/factories.ts'
import { type Files, realFiles } from './files.ts'
import { resolveFileSinkOptions } from './options.ts'
import { FileSink, file } from './sink.ts'

const make = createFactory()
const idsIn = async (path: string) => (await linesOf(path)).map(line => decodeEvent(line).id)
const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id)

describe('the path of a file sink', () => {
  it.runIf(process.platform !== 'win32')('E17: a named pipe is never moved away', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      execFileSync('mkfifo', [path])
      const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
      const sink = file({ path, rotate: { bytes: 1, keep: 0 } })
      const events = make.events(3)
      for (const event of events) await sink.write([event], neverAborted())
      const { buffer, bytesRead } = await reader.read(Buffer.alloc(65_536))
      const lines = buffer.subarray(0, bytesRead).toString().trimEnd().split('\n')
      expect(lines.map(line => decodeEvent(line).id)).toEqual(idsOf(events))
      expect((await stat(path)).isFIFO()).toBe(true)
      expect(await readdir(dir)).toEqual(['events.jsonl'])
      await sink.close()
      await reader.close()
    })
  })

  it('E17: behind a link the file rotates in its own folder, and the link stays', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'link.jsonl')
      await mkdir(join(dir, 'disk'))
      await symlink('disk/events.jsonl', path)
      const sink = file({ path, rotate: { bytes: 1 } })
      const events = make.events(3)
      for (const event of events) await sink.write([event], neverAborted())
      await sink.close()
      expect((await lstat(path)).isSymbolicLink()).toBe(true)
      expect((await readdir(dir)).sort()).toEqual(['disk', 'link.jsonl'])
      const names = (await readdir(join(dir, 'disk'))).sort()
      const written = await Promise.all(names.map(name => idsIn(join(dir, 'disk', name))))
      expect(written).toEqual(idsOf(events).map(id => [id]))
      expect(names.at(-1)).toBe('events.jsonl')
    })
  })

  it.runIf(process.platform === 'linux')(
    'E17: a file that the process has open already is only appended to, also after text of others',
    async () => {
      await withTempFolder(async dir => {
        const path = join(dir, 'link.jsonl')
        // As a shell opens the file of `service > out.log`.
        const output = await open(join(dir, 'out.log'), 'w')
        await output.write('half a line')
        await symlink(`/dev/fd/${output.fd}`, path)
        const sink = file({ path, rotate: { bytes: 1, keep: 0 } })
        const events = make.events(3)
        for (const event of events) await sink.write([event], neverAborted())
        await sink.probe()
        await sink.close()
        await output.write('more\n')
        await output.close()
        const [first, ...rest] = await linesOf(join(dir, 'out.log'))
        expect([first, rest.pop()]).toEqual(['half a line', 'more'])
        expect(rest.map(line => decodeEvent(line).id)).toEqual(idsOf(events))
        expect((await readdir(dir)).sort()).toEqual(['link.jsonl', 'out.log'])
      })
    },
  )

  it.each([true, false])(
    'E17: a file that was removed or moved is followed by a new one (durable: %s)',
    async durable => {
      await withTempFolder(async dir => {
        const path = join(dir, 'events.jsonl')
        const sink = file({ path, durable })
        const events = make.events(4)
        await sink.write([events[0]!], neverAborted())
        await rm(path)
        await sink.write([events[1]!], neverAborted())
        expect(await idsIn(path)).toEqual([events[1]!.id])
        await rename(path, join(dir, 'moved.jsonl'))
        await sink.probe()
        expect(await idsIn(path)).toEqual([])
        await sink.write([events[2]!], neverAborted())
        await writeFile(join(dir, 'other.jsonl'), '')
        await rename(join(dir, 'other.jsonl'), path)
        await sink.write([events[3]!], neverAborted())
        await sink.close()
        expect(await idsIn(join(dir, 'moved.jsonl'))).toEqual([events[1]!.id])
        expect(await idsIn(path)).toEqual([events[3]!.id])
      })
    },
  )

  it.each([true, false])(
    'E2: a folder that was removed is a failed write until it is back (durable: %s)',
    async durable => {
      await withTempFolder(async dir => {
        const path = join(dir, 'log/events.jsonl')
        const sink = file({ path, durable })
        const [before, after] = [make.event(), make.event()]
        await sink.write([before], neverAborted())
        await rm(join(dir, 'log'), { recursive: true })
        for (const attempt of [sink.write([after], neverAborted()), sink.probe()]) {
          const error = await rejection(attempt)
          expect(classify(error).retryable).toBe(true)
          expect(String(error)).toContain('put its folder back')
        }
        expect(await readdir(dir)).toEqual([])
        await mkdir(join(dir, 'log'))
        await sink.write([after], neverAborted())
        await sink.close()
        expect(await idsIn(path)).toEqual([after.id])
      })
    },
  )

  it('E2: a durable batch whose file is moved meanwhile is not written, neither there nor here', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const moved = join(dir, 'moved.jsonl')
      let isMoved = true
      const datasync: Files['datasync'] = async fd => {
        await realFiles.datasync(fd)
        if (isMoved) return
        isMoved = true
        await rename(path, moved)
      }
      const sink = new FileSink(resolveFileSinkOptions({ path, durable: true }), { ...realFiles, datasync })
      const events = make.events(2)
      await sink.write([events[0]!], neverAborted())
      isMoved = false
      const error = await rejection(sink.write([events[1]!], neverAborted()))
      expect(classify(error).retryable).toBe(true)
      expect(String(error)).toContain('was removed or replaced while it was open')
      await sink.write([events[1]!], neverAborted())
      await sink.close()
      expect([await idsIn(moved), await idsIn(path)]).toEqual(idsOf(events).map(id => [id]))
    })
  })
})
