import type { DamagedFile } from './damage.ts'
import type { Journal } from './journal.ts'

/** The space that the files take on the disk, and their damage. */
export interface FileUsage {
  readonly path: string
  readonly bytes: number
  readonly files: number
  /** The number of damaged parts found since the folder was opened. */
  readonly damaged: number
  /** The files that have them. */
  readonly damagedFiles: readonly DamagedFile[]
  /** The files to which torn lines were moved when the file that had them was rewritten. Nothing reads them. */
  readonly setAside: readonly string[]
}

export async function usageOf({ segments, folder, damage }: Journal): Promise<FileUsage> {
  const bytes = segments.all.reduce((sum, segment) => sum + segment.end, 0)
  return {
    path: folder.dir,
    bytes,
    files: segments.all.length,
    damaged: damage.count,
    damagedFiles: damage.files,
    setAside: await folder.setAside(),
  }
}
