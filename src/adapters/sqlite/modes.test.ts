import { chmod, lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesOpenToOthers } from '../../../test/support/file-permissions.ts'
import { createFactory } from '../../testing/factories.ts'
import { openSqlite } from './index.ts'

describe.skipIf(process.platform === 'win32')('a database file', () => {
  it('P2: nobody but its owner may read it, its write-ahead log and its index', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-modes-'))
    const path = join(folder, 'a store.db')
    const store = openSqlite({ path })
    await store.deadLetters.send(createFactory().letter())
    for (const name of [path, `${path}-wal`, `${path}-shm`])
      expect((await stat(name)).mode & 0o777).toBe(0o600)
    expect(await filesOpenToOthers(folder)).toEqual([])
    await store.close()
    await rm(folder, { recursive: true })
  })

  it('P2: one that is there keeps its mode', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-modes-'))
    const path = join(folder, 'old.db')
    await writeFile(path, '')
    await chmod(path, 0o640)
    const store = openSqlite({ path })
    await store.ready()
    expect((await stat(path)).mode & 0o777).toBe(0o640)
    await store.close()
    await rm(folder, { recursive: true })
  })

  it('K10: a symbolic link to a file that is not there yet stays, and the file is created where it points to', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-modes-'))
    const path = join(folder, 'shop.db')
    const target = join(folder, 'volume', 'shop.db')
    await symlink(join('volume', 'shop.db'), join(folder, 'second'))
    await symlink('second', path)
    const early = openSqlite({ path })
    await expect(early.ready()).rejects.toThrow(path)
    await early.close()
    expect(await readdir(folder)).toEqual(['second', 'shop.db'])

    await mkdir(join(folder, 'volume'))
    const store = openSqlite({ path })
    await store.deadLetters.send(createFactory().letter())
    await store.close()
    expect((await lstat(path)).isSymbolicLink()).toBe(true)
    expect((await lstat(target)).mode & 0o777).toBe(0o600)
    await rm(folder, { recursive: true })
  })
})
