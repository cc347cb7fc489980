import { resolve } from 'node:path'
import type { Resolved } from '../../core/options/resolve.ts'
import { derived, integer, listener, optional, text, withDefault } from '../../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import { type Codec, codecRule } from '../../ports/codec.ts'
import { type Damage, warnOfDamage } from './journal/damage.ts'
import type { Files } from './journal/files.ts'
import type { JournalSettings } from './journal/journal.ts'

const DAY_MS = 86_400_000
/** The default of the option `rotateBytes`. */
export const DEFAULT_ROTATE_BYTES = 10_000_000
/** The default of the option `retentionMs`. */
export const DEFAULT_RETENTION_MS = 30 * DAY_MS
/** The upper bound of a segment. Segments are rewritten in memory. */
const MAX_ROTATE_BYTES = 256_000_000

/** Options of every journal in a folder. */
export interface JournalOptions extends ClockAndRandomOptions {
  /** The folder. It is created if it is missing. Several processes may use the same one. */
  readonly dir: string
  /** The size of a file in bytes after which the next file begins [10 MB]. */
  readonly rotateBytes?: number | undefined
  /** How payloads and headers are written, for example sealed [unencrypted]. */
  readonly codec?: Codec | undefined
  /**
   * Receives damaged lines of the journal [a warning of the process, once for each file]. Lazaret skips and keeps them, and
   * loses nothing else.
   */
  readonly onDamage?: ((damage: Damage) => void) | undefined
}

export const journalRules = {
  // The path is resolved now, because the process may change its working directory later.
  dir: derived(text(), dir => resolve(dir)),
  rotateBytes: withDefault(integer({ min: 1, max: MAX_ROTATE_BYTES }), DEFAULT_ROTATE_BYTES),
  codec: codecRule,
  onDamage: optional(listener<(damage: Damage) => void>()),
  ...clockAndRandomRules,
}

export type JournalChoices = Resolved<typeof journalRules>

export function journalSettings(choices: JournalChoices, files: Files, prefix: string): JournalSettings {
  const { dir, rotateBytes, clock, random, onDamage } = choices
  return { files, dir, prefix, rotateBytes, clock, random, onDamage: onDamage ?? warnOfDamage() }
}
