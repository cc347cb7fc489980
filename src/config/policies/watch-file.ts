import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { backgroundClock, type Cancel, type Clock } from '../../ports/clock.ts'

/** An editor writes a file in several steps. The file counts as written when nothing happened for this long. */
const SETTLED_MS = 100

/** A file that is written again and again is read after this long anyway. */
const MAX_UNSETTLED_MS = 1_000

/** Kubernetes replaces this link when a ConfigMap changes, and not the file itself. */
const MOUNTED_DATA = '..data'

/**
 * Calls back after the file may have changed, been created or been replaced, until the returned function is called. It watches the
 * folder, because a watch on the file itself ends when an editor replaces the file. It does not keep the process alive.
 */
export function watchFile(path: string, changed: () => void, failed: (error: unknown) => void): Cancel {
  const name = basename(path)
  const settling = new Settling(backgroundClock, changed)
  const watcher = watch(dirname(path), { persistent: false }, (_event, touched) => {
    if (touched === null || touched === name || touched === MOUNTED_DATA) settling.touch()
  })
  watcher.on('error', failed)
  return () => {
    settling.end()
    watcher.close()
  }
}

/** Makes one call of the many changes that come close together. */
export class Settling {
  readonly #clock: Clock
  readonly #changed: () => void
  #firstTouchAt: number | undefined
  #cancel: Cancel | undefined

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock
    this.#changed = changed
  }

  touch(): void {
    const now = this.#clock.now()
    this.#firstTouchAt ??= now
    this.#cancel?.()
    const waitMs = Math.max(0, Math.min(SETTLED_MS, this.#firstTouchAt + MAX_UNSETTLED_MS - now))
    this.#cancel = this.#clock.schedule(waitMs, () => {
      this.#firstTouchAt = undefined
      this.#changed()
    })
  }

  end(): void {
    this.#cancel?.()
  }
}
