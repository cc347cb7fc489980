import { mkdir, open, realpath, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../test/support/folder.ts'
import { followPath } from './followed-path.ts'

describe('a path that is followed', () => {
  it('E17: leads over all links, also to what is not there yet', async () => {
    await withTempFolder(async given => {
      const dir = await realpath(given)
      await mkdir(join(dir, 'disk'))
      await symlink('disk', join(dir, 'folder'))
      await symlink('../second', join(dir, 'disk/first'))
      await symlink('missing', join(dir, 'second'))
      const found = { path: join(dir, 'missing'), descriptor: undefined }
      expect(await followPath(join(dir, 'folder/first'))).toEqual(found)
      const nowhere = join(dir, 'no/such/file')
      expect(await followPath(nowhere)).toEqual({ path: nowhere, descriptor: undefined })
      await symlink('circle', join(dir, 'circle'))
      expect((await followPath(join(dir, 'circle'))).descriptor).toBeUndefined()
    })
  })

  it.runIf(process.platform === 'linux')('E17: stops at a descriptor, and knows whose it is', async () => {
    await withTempFolder(async dir => {
      const file = await open(join(dir, 'out.log'), 'w')
      await symlink(`/proc/self/fd/${file.fd}`, join(dir, 'link'))
      for (const path of [`/dev/fd/${file.fd}`, `/proc/thread-self/fd/${file.fd}`, join(dir, 'link')])
        expect((await followPath(path)).descriptor).toBe(file.fd)
      expect((await followPath('/dev/stderr')).descriptor).toBe(2)
      expect((await followPath('/proc/1/fd/1')).descriptor).toBe(process.pid === 1 ? 1 : 'foreign')
      expect(await followPath('/dev/full')).toEqual({ path: '/dev/full', descriptor: undefined })
      await file.close()
    })
  })
})
