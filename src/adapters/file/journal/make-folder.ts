import { dirname } from 'node:path'
import type { Files } from './files.ts'

/** Makes the folder and those above it, so that a power failure does not take a new one and all that is in it. */
export async function makeFolder(files: Files, path: string): Promise<void> {
  const first = await files.makeFolder(path)
  if (first === undefined) return
  for (let folder = path; ; folder = dirname(folder)) {
    await files.syncFolder(dirname(folder))
    if (folder === first || folder === dirname(folder)) return
  }
}
