import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** Where all runs on this machine keep what they downloaded or built. */
export const CACHES = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'lazaret-tests')

/**
 * Makes a folder that all runs on this machine share, unless it is there. It is made beside its place and renamed, so that
 * two runs at once do not see half of it.
 */
export async function makeOnce(folder: string, make: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return
  await mkdir(dirname(folder), { recursive: true })
  const partial = await mkdtemp(`${folder}-`)
  // Servers that refuse to run as root read it too.
  await chmod(partial, 0o755)
  try {
    await make(partial)
    await rename(partial, folder).catch(error => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}
