import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { failingFiles } from '../../../../test/support/failing-files.ts'
import { withTempFolder } from '../../../../test/support/folder.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import { createFactory } from '../../../testing/factories.ts'
import { deadLetterRules, FileDeadLetters } from '../letters/dead-letters.ts'
import { EventLoopQuota } from '../letters/event-loop-quota.ts'
import type { Files } from './files.ts'

/** A store that tells which calls it makes of the file system. */
function watchedStore(dir: string, onCall: (call: keyof Files, path: string) => void): FileDeadLetters {
  const files = failingFiles((call, path) => {
    onCall(call, path)
    return undefined
  })
  return new FileDeadLetters(resolveOptions('test', deadLetterRules, { dir }), files)
}

describe('group commit', () => {
  it('E10: one sync serves all who send while another is under way', async () => {
    await withTempFolder(async dir => {
      let syncs = 0
      const store = watchedStore(dir, (call, path) => {
        if (call === 'datasync' && path.endsWith('.jsonl')) syncs++
      })
      const make = createFactory()
      await store.send(make.letter())
      syncs = 0
      await Promise.all(Array.from({ length: 100 }, () => store.send(make.letter())))
      expect(syncs).toBeGreaterThan(0)
      expect(syncs).toBeLessThan(5)
      expect((await store.stats()).count).toBe(101)
      await store.close()
    })
  })

  it('K10: a letter is acknowledged after its sync, never before', async () => {
    await withTempFolder(async dir => {
      const calls: string[] = []
      const store = watchedStore(dir, (call, path) => {
        if (path.endsWith('.jsonl')) calls.push(call)
      })
      const make = createFactory()
      for (let letter = 0; letter < 3; letter++) {
        calls.length = 0
        await store.send(make.letter())
        expect(calls.filter(call => call === 'write' || call === 'datasync')).toEqual(['write', 'datasync'])
      }
      await store.close()
    })
  })

  it('K10: a new file outlives a power failure: its folders are synced before anything is acknowledged', async () => {
    await withTempFolder(async dir => {
      const calls: string[] = []
      const store = watchedStore(`${dir}/new/folder`, (call, path) => {
        if (call === 'syncFolder' || call === 'datasync') calls.push(`${call} ${path.slice(dir.length)}`)
      })
      await store.send(createFactory().letter())
      await store.close()
      const [synced, acknowledged] = [calls.slice(0, -1), calls.at(-1)]
      expect(acknowledged).toMatch(/^datasync .*jsonl$/)
      expect(synced).toContain('syncFolder ')
      expect(synced).toContain('syncFolder /new')
      expect(synced).toContain('syncFolder /new/folder')
      expect(synced.some(call => /^syncFolder \/new\/folder\/\d{4}-\d\d-\d\d$/.test(call))).toBe(true)
    })
  })

  it('E10: closing writes what was sent, and leaves nothing of itself behind', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const store = watchedStore(dir, () => {})
      const sends = Array.from({ length: 500 }, () => store.send(make.letter()))
      await store.close()
      await Promise.all(sends)
      expect(await readdir(join(dir, 'lock'))).toEqual(['turn'])
      const reopened = watchedStore(dir, () => {})
      expect((await reopened.stats()).count).toBe(500)
      await reopened.close()
    })
  })

  it('E21: a thousand at once are written as JSON a few per turn of the event loop, first come first served', async () => {
    const quota = new EventLoopQuota(10)
    const done: number[] = []
    const perTurn: number[] = []
    const work = Array.from({ length: 1_000 }, async (_, index) => {
      await quota.take()
      done.push(index)
    })
    for (let before = 0; done.length < 1_000; before = done.length) {
      await yieldToEventLoop()
      perTurn.push(done.length - before)
    }
    await Promise.all(work)
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(20)
    expect(done).toEqual(Array.from({ length: 1_000 }, (_, index) => index))
  })
})
