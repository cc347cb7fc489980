import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for the files of one campaign, for as long as it runs, and longer if a person is to look at its result. */
export async function withTempFolder<T>(
  work: (folder: string) => Promise<T>,
  isKept: (result: T) => boolean = () => false,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-campaign-'))
  let mustStay = false
  try {
    const result = await work(folder)
    mustStay = isKept(result)
    return result
  } finally {
    if (!mustStay) await rm(folder, { recursive: true, force: true })
  }
}
