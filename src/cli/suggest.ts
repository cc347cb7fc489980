import { nearest } from '../core/options/nearest.ts'

/** What other tools call it. */
const SYNONYMS: Readonly<Record<string, string>> = {
  ls: 'list',
  get: 'show',
  describe: 'show',
  inspect: 'show',
  delete: 'purge',
  remove: 'purge',
  rm: 'purge',
  drop: 'discard',
  acknowledge: 'ack',
  retry: 'replay',
  redrive: 'replay',
  run: 'start',
  stop: 'pause',
  abort: 'cancel',
  snooze: 'mute',
  close: 'resolve',
}

/** The word that a person most likely meant: one letter off, two letters swapped, its beginning, or another tool's word. */
export function suggest(typed: string, known: readonly string[]): string | undefined {
  const near = nearest(typed, known)
  if (near !== undefined) return near
  const lower = typed.toLowerCase()
  const swapped = known.find(word => lettersOf(word) === lettersOf(lower))
  if (swapped !== undefined) return swapped
  const begun = known.filter(word => lower.length >= 2 && word.startsWith(lower))
  if (begun.length === 1) return begun[0]
  const synonym = SYNONYMS[lower]
  return synonym !== undefined && known.includes(synonym) ? synonym : undefined
}

function lettersOf(word: string): string {
  return [...word].sort().join('')
}
