import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** What in a folder, itself included, others than its owner may read, write or enter: each with its mode. */
export async function filesOpenToOthers(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true })
  const found: string[] = []
  for (const name of ['.', ...names]) {
    const { mode } = await stat(join(folder, name))
    if ((mode & 0o077) !== 0) found.push(`${name} ${(mode & 0o777).toString(8)}`)
  }
  return found
}
