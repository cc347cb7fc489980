import { describe, expect, it } from 'vitest'
import { FileGoneError, foundByError, identityOf, requireInPlace } from './opened-file.ts'

const file = { path: '/var/shop.db', identity: identityOf({ dev: 1n, ino: 7n }) }
const coded = (code: string) => Object.assign(new Error(code), { code })

describe('a file that is open', () => {
  it('K10: is gone when its path names nothing, or a file with another inode or on another device', () => {
    const missing = [foundByError(coded('ENOENT')), foundByError(coded('ENOTDIR'))]
    const others = [
      { dev: 1n, ino: 8n },
      { dev: 2n, ino: 7n },
    ]
    for (const found of [...missing, ...others.map(stats => ({ identity: identityOf(stats) }))])
      expect(() => requireInPlace(file, found)).toThrow(FileGoneError)
  })

  it('K10: is in place while its path names it, and again after it came back', () => {
    requireInPlace(file, { identity: identityOf({ dev: 1n, ino: 7n }) })
  })

  it('K10: a mount that does not answer for a moment says nothing, so that the write itself decides', () => {
    for (const code of ['EIO', 'ESTALE', 'ETIMEDOUT', 'EACCES', 'ENOTCONN'])
      requireInPlace(file, foundByError(coded(code)))
  })

  it('K10: without inodes, as on some drives of Windows, only a missing file is noticed', () => {
    const none = identityOf({ dev: 1n, ino: 0n })
    requireInPlace({ path: file.path, identity: none }, { identity: identityOf({ dev: 1n, ino: 9n }) })
    requireInPlace(file, { identity: none })
    expect(() => requireInPlace({ path: file.path, identity: none }, 'missing')).toThrow(FileGoneError)
  })
})
