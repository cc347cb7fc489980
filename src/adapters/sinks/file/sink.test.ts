import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { linesOf, withTempFolder } from '../../../../test/support/folder.ts'
import { neverAborted, rejection } from '../../../../test/support/sink-writes.ts'
import { decodeEvent } from '../../../core/event/json.ts'
import { classify } from '../../../core/failure/classify.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { type Files, realFiles } from './files.ts'
import { type FileSinkOptions, resolveFileSinkOptions } from './options.ts'
import { FileSink, file } from './sink.ts'

const make = createFactory()
const DAY_MS = 86_400_000
const idsIn = async (path: string) => (await linesOf(path)).map(line => decodeEvent(line).id)
const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id)

/** The real file system with some calls replaced. */
const broken = (options: FileSinkOptions, calls: Partial<Files>) =>
  new FileSink(resolveFileSinkOptions(options), { ...realFiles, ...calls })
const failure = (code: string) => Object.assign(new Error(`${code}: no`), { code })

describe('file sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: false, refuse: false },
    async setup() {
      const dir = join((await import('node:os')).tmpdir(), `lazaret-sink-${make.event().id}-${process.pid}`)
      const path = join(dir, 'events.jsonl')
      let isFailing = false
      const open = async (name: string) => {
        if (isFailing) throw failure('EIO')
        return realFiles.open(name)
      }
      const append: Files['append'] = async (fd, bytes) => {
        if (isFailing) throw failure('EIO')
        await realFiles.append(fd, bytes)
      }
      const sink = broken({ path }, { open, append })
      return {
        sink,
        received: async () => ((await readdir(dir).catch(() => [])).length === 0 ? [] : idsIn(path)),
        setFailing: sick => {
          isFailing = sick
          void sink.reopen()
        },
        cleanup: () => import('node:fs/promises').then(fs => fs.rm(dir, { recursive: true, force: true })),
      }
    },
  })

  it('E17: an event comes back from its line as it was', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'deep/er/events.jsonl')
      const sink = file({ path, durable: true })
      const events = [
        make.event({ payload: { text: 'a\nb\u2028' } }),
        make.event({ payload: new Uint8Array([1, 255]) }),
      ]
      await sink.write(events, neverAborted())
      expect((await linesOf(path)).map(decodeEvent)).toEqual(events)
      await sink.close()
    })
  })

  it('E17: a file that would grow too large is followed by the next, and so many are kept', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const clock = new FakeClock()
      const sink = file({ path, rotate: { bytes: 600, keep: 2 }, clock })
      const events = make.events(12)
      for (const event of events) await sink.write([event], neverAborted())
      await sink.close()
      const names = (await readdir(dir)).sort()
      expect(names).toHaveLength(3)
      const day = new Date(clock.now()).toISOString().slice(0, 10)
      expect(names[0]).toMatch(new RegExp(`^events-${day}-00000\\d\\.jsonl$`))
      const kept = await Promise.all(names.map(name => idsIn(join(dir, name))))
      expect(kept.flat()).toEqual(idsOf(events).slice(-kept.flat().length))
      for (const name of names) expect((await stat(join(dir, name))).size).toBeLessThanOrEqual(600)
    })
  })

  it('E17: a batch larger than a file goes whole into one of its own', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const sink = file({ path, rotate: { bytes: 10 } })
      await sink.write(make.events(3), neverAborted())
      await sink.write(make.events(2), neverAborted())
      await sink.close()
      const names = (await readdir(dir)).sort()
      expect(
        (await Promise.all(names.map(name => linesOf(join(dir, name))))).map(lines => lines.length),
      ).toEqual([3, 2])
    })
  })

  it('E17: each UTC day has its file, also after a restart', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const clock = new FakeClock()
      const write = async (sink: FileSink) => sink.write([make.event()], neverAborted())
      const first = file({ path, rotate: { daily: true }, clock })
      const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
      const start = clock.now()
      await write(first)
      await clock.advance(DAY_MS)
      await write(first)
      await write(first)
      await first.close()
      await utimes(path, (start + DAY_MS) / 1_000, (start + DAY_MS) / 1_000)
      await clock.advance(DAY_MS)
      const second = file({ path, rotate: { daily: true }, clock })
      await write(second)
      await second.close()
      expect((await readdir(dir)).sort()).toEqual([
        `events-${day(start)}-000001.jsonl`,
        `events-${day(start + DAY_MS)}-000001.jsonl`,
        'events.jsonl',
      ])
      expect(await linesOf(join(dir, `events-${day(start + DAY_MS)}-000001.jsonl`))).toHaveLength(2)
    })
  })

  it.each([400, -400])('E17: the newest files are kept after a clock that was %s days wrong', async days => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const clock = new FakeClock()
      const sink = file({ path, rotate: { bytes: 1, keep: 3 }, clock })
      const ids: string[] = []
      for (let written = 0; written < 15; written++) {
        if (written === 5) clock.jump(days * DAY_MS)
        if (written === 10) clock.jump(-days * DAY_MS)
        const event = make.event()
        ids.push(event.id)
        await sink.write([event], neverAborted())
        const kept = await Promise.all((await readdir(dir)).map(name => idsIn(join(dir, name))))
        expect(kept.flat().sort()).toEqual(ids.slice(-4).sort())
      }
      await sink.close()
    })
  })

  it('E17: files of others in the folder are left alone', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const others = ['events-old.jsonl', 'events-2020-01-01-000001.txt', 'events2-2020-01-01-000001.jsonl']
      for (const name of others) await writeFile(join(dir, name), 'x')
      const sink = file({ path, rotate: { bytes: 1, keep: 0 } })
      for (const event of make.events(3)) await sink.write([event], neverAborted())
      await sink.close()
      expect((await readdir(dir)).sort()).toEqual([...others, 'events.jsonl'].sort())
    })
  })

  it('E21: a line torn by an earlier crash does not spoil the next one', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const [before, after] = [make.events(2), make.events(2)]
      const first = file({ path })
      await first.write(before, neverAborted())
      await first.close()
      await appendFile(path, `{"v":1,"id":"torn${'x'.repeat(200_000)}`)
      const second = file({ path })
      await second.write(after, neverAborted())
      await second.close()
      expect(await idsIn(path)).toEqual(idsOf([...before, ...after]))
    })
  })

  it('E21: a file that holds only a torn line starts again', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      await writeFile(path, '{"v":1')
      const sink = file({ path })
      const events = make.events(1)
      await sink.write(events, neverAborted())
      await sink.close()
      expect(await idsIn(path)).toEqual(idsOf(events))
    })
  })

  it('E2: a full disk is worth another attempt, and leaves no half batch behind', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      let isFull = false
      const sink = broken(
        { path },
        {
          async append(fd, bytes) {
            if (!isFull) return realFiles.append(fd, bytes)
            await realFiles.append(fd, bytes.subarray(0, bytes.length * 0.7))
            throw failure('ENOSPC')
          },
          freeBytes: async () => (isFull ? 0 : 1_000),
        },
      )
      const [before, during] = [make.events(2), make.events(3)]
      await sink.write(before, neverAborted())
      isFull = true
      const error = await rejection(sink.write(during, neverAborted()))
      expect(classify(error)).toMatchObject({ retryable: true, code: 'LAZARET_TRANSIENT' })
      expect(String(error)).toContain('free disk space')
      expect(String(await rejection(sink.probe()))).toContain('full')
      expect(await idsIn(path)).toEqual(idsOf(before))
      isFull = false
      await sink.probe()
      await sink.write(during, neverAborted())
      expect(await idsIn(path)).toEqual(idsOf([...before, ...during]))
      await sink.close()
    })
  })

  it.runIf(process.platform === 'linux')('E2: a device without room is a full disk', async () => {
    const sink = file({ path: '/dev/full' })
    const error = await rejection(sink.write(make.events(1), neverAborted()))
    expect(String(error)).toContain('ENOSPC')
    expect(classify(error).retryable).toBe(true)
    await sink.close()
  })

  it('E2: what this process may not do is permanent', async () => {
    await withTempFolder(async dir => {
      const refused = broken(
        { path: join(dir, 'a.jsonl') },
        { open: () => Promise.reject(failure('EACCES')) },
      )
      const error = await rejection(refused.write(make.events(1), neverAborted()))
      expect(classify(error)).toMatchObject({ retryable: false, category: 'integration' })
      await mkdir(join(dir, 'folder.jsonl'))
      const folder = file({ path: join(dir, 'folder.jsonl') })
      expect(classify(await rejection(folder.write(make.events(1), neverAborted()))).retryable).toBe(false)
      expect(classify(await rejection(folder.probe())).retryable).toBe(false)
      if (process.getuid?.() === 0) return
      await chmod(dir, 0o500)
      const locked = file({ path: join(dir, 'b.jsonl') })
      expect(classify(await rejection(locked.write(make.events(1), neverAborted()))).retryable).toBe(false)
      await chmod(dir, 0o700)
    })
  })

  it('E17: a file that somebody moved is followed by a new one after reopen, by hand or by SIGHUP', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const sink = file({ path, signals: true })
      const events = make.events(3)
      await sink.write([events[0]!], neverAborted())
      await rename(path, join(dir, 'moved-1'))
      await sink.reopen()
      await sink.write([events[1]!], neverAborted())
      await rename(path, join(dir, 'moved-2'))
      process.emit('SIGHUP')
      await sink.write([events[2]!], neverAborted())
      await sink.close()
      expect(process.listenerCount('SIGHUP')).toBe(0)
      expect(
        await Promise.all(['moved-1', 'moved-2', 'events.jsonl'].map(name => idsIn(join(dir, name)))),
      ).toEqual(events.map(({ id }) => [id]))
    })
  })

  it('E17: batches written at once stay whole and in order', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'events.jsonl')
      const sink = file({ path })
      const batches = Array.from({ length: 20 }, () => make.events(50))
      await Promise.all(batches.map(batch => sink.write(batch, neverAborted())))
      await sink.close()
      expect(await idsIn(path)).toEqual(idsOf(batches.flat()))
      expect((await readFile(path, 'utf8')).endsWith('\n')).toBe(true)
    })
  })

  it('F7: options are checked once, all faults together', () => {
    expect(() => file({ path: '', rotate: { bytes: 0, dayly: true } } as unknown as FileSinkOptions)).toThrow(
      /file sink: 3 faults[\s\S]*did you mean 'daily'/,
    )
  })
})
