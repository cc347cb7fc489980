import { bounded, namesOf, property } from '../failure/thrown.ts'
import type { Origin } from './letter.ts'

const TEXT_MAX = 1_000

/** The origin in a form that every store can keep: texts and numbers. Other clients pass values of any type. */
export function storableOrigin(origin: Origin | undefined): Origin {
  if (origin === undefined) return {}
  return isStorable(origin) ? origin : cleaned(origin)
}

function isStorable(origin: Origin): boolean {
  try {
    return Object.values(origin).every(isPlace)
  } catch {
    return false
  }
}

function isPlace(value: unknown): boolean {
  return value === undefined || typeof value === 'string' || Number.isFinite(value)
}

function cleaned(origin: object): Origin {
  const kept: Record<string, string | number> = {}
  for (const name of namesOf(origin)) {
    const value = property(origin, name)
    if (typeof value === 'string') kept[name] = bounded(value, TEXT_MAX)
    else if (typeof value === 'number' && Number.isFinite(value)) kept[name] = value
    // An offset can exceed 2^53, so it is stored as a text.
    else if (typeof value === 'bigint') kept[name] = bounded(String(value), TEXT_MAX)
    else if (typeof value === 'boolean') kept[name] = String(value)
  }
  return kept
}
