import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { backgroundClock, type Cancel } from '../../ports/clock.ts'

/** An editor writes a file in several steps. The file counts as written when nothing happened for this long. */
const SETTLED_MS = 100

/** Kubernetes replaces this link when a ConfigMap changes, and not the file itself. */
const MOUNTED_DATA = '..data'

/**
 * Calls back after the file may have changed, been created or been replaced, until the returned function is called. It watches the
 * folder, because a watch on the file itself ends when an editor replaces the file. It does not keep the process alive.
 */
export function watchFile(path: string, changed: () => void, failed: (error: unknown) => void): Cancel {
  const name = basename(path)
  let cancel: Cancel | undefined
  const watcher = watch(dirname(path), { persistent: false }, (_event, touched) => {
    if (touched !== null && touched !== name && touched !== MOUNTED_DATA) return
    cancel?.()
    cancel = backgroundClock.schedule(SETTLED_MS, changed)
  })
  watcher.on('error', failed)
  return () => {
    cancel?.()
    watcher.close()
  }
}
