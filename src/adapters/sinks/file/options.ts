import { resolve } from 'node:path'
import { group, type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { derived, flag, integer, text, withDefault } from '../../../core/options/rules.ts'
import { type Clock, clockRule } from '../../../ports/clock.ts'

const DEFAULT_ROTATE_BYTES = 100_000_000
const DEFAULT_KEPT_FILES = 10

/** Options of `file()`. */
export interface FileSinkOptions {
  /** The file; its folder is made when it is not there. One process writes it. */
  readonly path: string
  /** When the sink starts a new file, and how many old files it keeps [at 100 MB; 10 files]. */
  readonly rotate?: FileRotationOptions | undefined
  /** A batch is on the disk, not only in the machine's memory, before it counts as written [false]. */
  readonly durable?: boolean | undefined
  /** Reopen the file on SIGHUP, as logrotate asks for. Without it that signal ends the process [false]. */
  readonly signals?: boolean | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
}

/** When a file sink starts a new file, and how many old files it keeps. */
export interface FileRotationOptions {
  /** A file that would grow beyond this is followed by the next [100 MB]. */
  readonly bytes?: number | undefined
  /** A new file for each UTC day [false]. */
  readonly daily?: boolean | undefined
  /** Rotated files that are kept; the oldest go first [10]. */
  readonly keep?: number | undefined
}

const rules = {
  // The path is resolved now, because the process may change its working directory later.
  path: derived(text(), path => resolve(path)),
  rotate: group({
    bytes: withDefault(integer({ min: 1 }), DEFAULT_ROTATE_BYTES),
    daily: withDefault(flag(), false),
    keep: withDefault(integer({ min: 0, max: 10_000 }), DEFAULT_KEPT_FILES),
  }),
  durable: withDefault(flag(), false),
  signals: withDefault(flag(), false),
  clock: clockRule,
}

export type FileSinkSettings = Resolved<typeof rules>

export function resolveFileSinkOptions(options: FileSinkOptions): FileSinkSettings {
  return resolveOptions('file sink', rules, options)
}
