import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** Files here are in memory. */
const IN_MEMORY = '/dev/shm'
/** The servers and stores of three test files at once need less than half of it. */
const ENOUGH_BYTES = 4 * 1_024 ** 3

/**
 * Where tests keep the folders of their servers and stores. Tests end processes and never the machine, so what was
 * written needs no disk; and a disk that others use as well can answer a sync only after seconds.
 */
export const TEMPORARY_ENV = { TMPDIR: hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir() }

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= ENOUGH_BYTES
  } catch {
    return false
  }
}
