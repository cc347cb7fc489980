import { readdirSync, readFileSync } from 'node:fs'
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'

const BLOCK_BYTES = 512

/** What the files of a folder take on the disk. Files that vanish meanwhile count as none. Rejects if the folder is away. */
export async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true })
  // Servers reserve more than they write, so the blocks count and not the length.
  const sizes = entries.map(entry =>
    lstat(join(folder, entry)).then(
      stats => stats.blocks * BLOCK_BYTES,
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Moves a folder away for as long as the work takes. */
export async function withoutFolder(folder: string, work: () => Promise<void>): Promise<void> {
  const away = `${folder}.away`
  await mkdir(away, { recursive: true })
  await rename(folder, join(away, 'data'))
  try {
    await work()
  } finally {
    await rename(join(away, 'data'), folder)
  }
}

/** Stops a process and its children, and lets them continue. */
export async function stopTree(pid: number, work: () => Promise<void>): Promise<void> {
  const stopped = [pid, ...childrenOf(pid)]
  send(stopped, 'SIGSTOP')
  try {
    await work()
  } finally {
    send(stopped, 'SIGCONT')
  }
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended by itself.
    }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => parentOf(pid) === parent)
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in parentheses and may contain any character. The state and the parent follow it.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
