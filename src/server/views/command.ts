import type { Replay } from '../../ports/replays.ts'
import type { PatchOperation } from '../schema/replays.ts'
import { fromLetterFilter } from './filter.ts'

const MS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
]

/** The command line that plans the same replay. */
export function planCommand(
  replay: Replay,
  storeUrl: string,
  patch: readonly PatchOperation[] | undefined,
): string {
  const { selectedBy, reason, stages, perSecond, halt, to, maxAgeMs, allowQuarantined, needsApproval } =
    replay
  const filter = Object.entries(fromLetterFilter(selectedBy.filter ?? {})).flatMap(([name, value]) => [
    // On the command line `--reason` is the reason for the replay.
    name === 'reason'
      ? '--letter-reason'
      : `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`,
    String(value),
  ])
  const words = [
    ...(selectedBy.ids ?? []),
    ...filter,
    ...['--reason', reason],
    ...['--stages', stages.join(',')],
    ...['--per-second', String(perSecond)],
    ...['--halt-refail-ratio', String(halt.refailRatio)],
    ...(halt.onSameFingerprint ? [] : ['--no-halt-on-same-cause']),
    ...(to === undefined ? [] : ['--to', to]),
    ...['--max-age', duration(maxAgeMs)],
    ...(allowQuarantined ? ['--allow-quarantined'] : []),
    ...(replay.requireSchema === true ? ['--require-schema'] : []),
    ...(needsApproval ? ['--needs-approval'] : []),
    ...['--store', storeUrl],
  ].map(quoted)
  const patching = patch === undefined ? '' : ` --patch <(printf %s ${quoted(JSON.stringify(patch))})`
  return `lazaret replay plan ${words.join(' ')}${patching}`
}

function duration(ms: number): string {
  const [unit, size] = MS.find(([, each]) => ms % each === 0) ?? ['ms', 1]
  return `${ms / size}${unit}`
}

/** Quotes a word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
