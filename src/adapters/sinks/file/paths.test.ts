import { execFileSync } from 'node:child_process'
import { constants, lstat, mkdir, open, readdir, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { linesOf, withTempFolder } from '../../../../test/support/folder.ts'
import { neverAborted } from '../../../../test/support/sink-writes.ts'
import { decodeEvent } from '../../../core/event/json.ts'
import { createFactory } from '../../../testing/factories.ts'
import { file } from './sink.ts'

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
})
