import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Instance } from '../ports/fleet.ts'
import type { Group } from '../ports/groups.ts'
import type { Replay } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { FailedError, UsageError } from './io.ts'

/** A shortened ID is searched only among this many of the newest records. */
const MAX_SCANNED = 5_000
const PAGE = 1_000
const MIN_PART = 4
const PART_OF_AN_ID = /^[0-9a-f-]{4,35}$/i

/** Finds a letter by its ID, or by the beginning or end of the ID if only one letter matches. */
export function findLetter({ deadLetters }: Store, typed: string): Promise<DeadLetter> {
  return find(typed, 'dead letter', "run 'lazaret dlq list' to see the IDs", {
    get: id => deadLetters.get(id),
    page: async cursor => {
      const { letters, cursor: next } = await deadLetters.list({ limit: PAGE, cursor })
      return { entries: letters, cursor: next }
    },
  })
}

export function findGroup({ groups }: Store, typed: string): Promise<Group> {
  return find(typed, 'group', "run 'lazaret groups list' to see the IDs", {
    get: id => groups.get(id),
    page: async cursor => {
      const { groups: entries, cursor: next } = await groups.list({ limit: PAGE, cursor })
      return { entries, cursor: next }
    },
  })
}

export function findReplay({ replays }: Store, typed: string): Promise<Replay> {
  return find(typed, 'replay', "run 'lazaret replay list' to see the IDs", {
    get: id => replays.get(id),
    page: async () => ({ entries: await replays.list({ limit: PAGE }), cursor: undefined }),
  })
}

/** Finds a process of the fleet. */
export async function findInstance({ fleet }: Store, typed: string): Promise<Instance> {
  const entries = ((await fleet?.list()) ?? []).map(instance => ({ id: instance.report.id, instance }))
  const { instance } = await find(typed, 'process', "run 'lazaret fleet list' to see the IDs", {
    get: async id => entries.find(each => each.id === id),
    page: async () => ({ entries, cursor: undefined }),
  })
  return instance
}

interface Lookup<T> {
  get(id: string): Promise<T | undefined>
  page(cursor: string | undefined): Promise<{ entries: readonly T[]; cursor: string | undefined }>
}

async function find<T extends { readonly id: string }>(
  typed: string,
  what: string,
  remedy: string,
  lookup: Lookup<T>,
): Promise<T> {
  if (typed.trim() === '') throw new UsageError(`the ID of the ${what} is empty; ${remedy}`)
  const exact = await lookup.get(typed)
  if (exact !== undefined) return exact
  const matches = PART_OF_AN_ID.test(typed) ? await findByPart(typed.toLowerCase(), lookup) : []
  const [only, other] = matches
  if (only === undefined) {
    const tooShort = typed.length < MIN_PART ? `; a shortened ID needs at least ${MIN_PART} characters` : ''
    throw new FailedError(`no ${what} has the ID ${typed}${tooShort}; ${remedy}`)
  }
  if (other !== undefined)
    throw new UsageError(
      `${typed} matches ${only.id} and ${other.id}${matches.length > 2 ? ' and others' : ''}; type more of the ID`,
    )
  return only
}

async function findByPart<T extends { readonly id: string }>(part: string, lookup: Lookup<T>): Promise<T[]> {
  const matches: T[] = []
  let cursor: string | undefined
  let looked = 0
  do {
    const page = await lookup.page(cursor)
    matches.push(...page.entries.filter(({ id }) => id.startsWith(part) || id.endsWith(part)))
    looked += page.entries.length
    cursor = page.cursor
  } while (cursor !== undefined && looked < MAX_SCANNED && matches.length < 3)
  return matches
}
