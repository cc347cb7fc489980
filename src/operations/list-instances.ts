import { decodeCursor, encodeCursor, type Listing } from '../adapter-kit/query/cursor.ts'
import { givenFields } from '../core/options/merge.ts'
import type { Instance, InstanceState } from '../ports/fleet.ts'

/** Which processes to list. Without a field, any will do. */
export interface InstanceFilter {
  readonly service?: string | undefined
  readonly state?: InstanceState | undefined
}

interface InstancePage<T> {
  readonly instances: readonly T[]
  readonly cursor: string | undefined
}

interface PageRequest {
  readonly limit: number
  readonly cursor: string | undefined
}

/** Texts and numbers that sort as the rows do. */
type Position = readonly (string | number)[]

/**
 * A page of processes, in the order of service, start and id. A filter for the processes that are gone, or for those that
 * left, has them in the order in which they were seen, the last one first.
 */
export function pageOfInstances<T extends Instance>(
  all: readonly T[],
  { service, state }: InstanceFilter,
  asked: PageRequest,
): InstancePage<T> {
  const { rows, cursor } = pageAfter(
    all.filter(
      each =>
        (service ?? each.report.service) === each.report.service && (state ?? each.state) === each.state,
    ),
    state === 'gone' || state === 'left' ? endPosition : startPosition,
    { name: 'fleet', filter: givenFields({ service, state }) },
    asked,
  )
  return { instances: rows, cursor }
}

/** Where a process stands in the order of service, start and id. */
export function startPosition({ report: { service, startedAt, id } }: Instance): Position {
  return [service, startedAt, id]
}

function endPosition({ seenAt, report: { id } }: Instance): Position {
  return [-seenAt, id]
}

/** Sorts the rows by their positions. Returns those after the cursor, at most `limit`, and the cursor of the next page. */
export function pageAfter<T>(
  all: readonly T[],
  positionOf: (row: T) => Position,
  listing: Listing,
  { limit, cursor }: PageRequest,
): { readonly rows: readonly T[]; readonly cursor: string | undefined } {
  const after = cursor === undefined ? undefined : decodeCursor(listing, cursor, readPosition)
  const rest = all
    .map(row => ({ row, at: positionOf(row) }))
    .filter(({ at }) => after === undefined || comparePositions(at, after) > 0)
    .sort((a, b) => comparePositions(a.at, b.at))
  const page = rest.slice(0, limit)
  return {
    rows: page.map(({ row }) => row),
    cursor: rest.length > page.length ? encodeCursor(listing, writePosition(page.at(-1)!.at)) : undefined,
  }
}

function writePosition(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

function readPosition(text: string): Position | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return isPosition(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isPosition(value: unknown): value is Position {
  return Array.isArray(value) && value.every(each => typeof each === 'string' || Number.isFinite(each))
}

function comparePositions(a: Position, b: Position): number {
  const at = a.findIndex((each, index) => each !== b[index])
  if (at === -1) return 0
  return a[at]! < (b[at] ?? '') ? -1 : 1
}
