import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '../../adapter-kit/file-system.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import { text } from '../../core/options/rules.ts'
import type { OpenAlerts } from '../../ports/notifier.ts'

/** Options of `fileOpenAlerts()`. */
export interface FileOpenAlertsOptions {
  /** The path of the file. Its folder is created. Each process needs a file of its own. */
  readonly path: string
}

const rules = { path: text({ maxLength: 4_096 }) }

/** Keeps the open alerts of a notifier in a file, so that the next process knows them. */
export function fileOpenAlerts(options: FileOpenAlertsOptions): OpenAlerts {
  const { path } = resolveOptions('fileOpenAlerts', rules, options)
  const next = `${path}.next`
  return {
    async read() {
      try {
        return await readFile(path, 'utf8')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    /** A crash leaves the old file or the new one, never a part of one. */
    async write(kept) {
      await mkdir(dirname(path), { recursive: true })
      // A file that a crash left behind may have another mode.
      await rm(next, { force: true })
      const file = await open(next, 'wx', 0o600)
      try {
        await file.writeFile(kept)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(next, path)
      await syncFolder(dirname(path))
    },
  }
}
