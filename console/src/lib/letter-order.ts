/** What the list of letters can be sorted by, as a person says it. The server knows the same words. */
export const SORT_WORDS = {
  lastFailed: 'Last failed',
  firstFailed: 'First failed',
  attempts: 'Attempts',
  channel: 'Channel',
  handler: 'Handler or sink',
  type: 'Event type',
  reason: 'Reason',
  category: 'Category',
  state: 'State',
  group: 'Cause',
} as const

export type LetterSort = keyof typeof SORT_WORDS

/** The order of the list and the time it starts at, as the URL has them. */
export interface ListOrder {
  readonly sort: LetterSort
  readonly isDescending: boolean
  /** Only for a list by time. */
  readonly startAt: string | undefined
}

/** An unknown column in a URL is left to the server, which refuses it; the screen then shows the usual order. */
export function readOrder(search: string): ListOrder {
  const params = new URLSearchParams(search)
  const asked = params.get('sort') ?? ''
  const sort = Object.hasOwn(SORT_WORDS, asked) ? (asked as LetterSort) : 'lastFailed'
  const order = params.get('order')
  return {
    sort,
    isDescending: order === null ? isUsuallyDescending(sort) : order === 'desc',
    startAt: isByTime(sort) ? (params.get('startAt') ?? undefined) : undefined,
  }
}

/** The parameters of a list in this order, without those that are the usual ones. */
export function orderParams({ sort, isDescending }: Omit<ListOrder, 'startAt'>): Record<string, string> {
  return {
    ...(sort === 'lastFailed' ? {} : { sort }),
    ...(isDescending === isUsuallyDescending(sort) ? {} : { order: isDescending ? 'desc' : 'asc' }),
  }
}

/** The order after a click on a heading: that column, or the other direction of it. */
export function orderAfterClick(current: Pick<ListOrder, 'sort' | 'isDescending'>, sort: LetterSort) {
  const isDescending = current.sort === sort ? !current.isDescending : isUsuallyDescending(sort)
  return { sort, isDescending }
}

export function isByTime(sort: LetterSort): boolean {
  return sort === 'lastFailed' || sort === 'firstFailed'
}

/** Times and attempts begin with the greatest. */
function isUsuallyDescending(sort: LetterSort): boolean {
  return isByTime(sort) || sort === 'attempts'
}
