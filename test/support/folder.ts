import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs with a folder that is empty and gone afterwards. */
export async function withTempFolder<T>(run: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'lazaret-'))
  try {
    return await run(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Every file below the folder whose name ends so, in order, as paths. */
export async function filesBelow(dir: string, ending = ''): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile() && entry.name.endsWith(ending))
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}

export async function linesOf(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split('\n').slice(0, -1)
}
