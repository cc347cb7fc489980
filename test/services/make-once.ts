import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'

/**
 * Makes a folder that all runs on this machine share, unless it is there. It is made beside its place and renamed, so that
 * two runs at once do not see half of it.
 */
export async function makeOnce(folder: string, make: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return
  const partial = await mkdtemp(`${folder}-`)
  try {
    await make(partial)
    await rename(partial, folder).catch(error => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}
