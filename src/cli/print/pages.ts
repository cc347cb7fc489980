import { OptionsError } from '../../core/options/faults.ts'
import { type Io, UsageError } from '../io.ts'

const DEFAULT_LISTED = 100

interface Page {
  readonly count: number
  readonly text: string
  readonly cursor: string | undefined
}

interface Listing {
  /** The command, for messages. */
  readonly command: string
  /** The plural of the records. */
  readonly what: string
  readonly isFiltered: boolean
}

/** Writes a listing page by page until there are no more, or as many as were asked for. */
export async function writePages(
  io: Io,
  asked: { readonly limit: number | undefined; readonly cursor: string | undefined },
  { command, what, isFiltered }: Listing,
  read: (atMost: number, cursor: string | undefined) => Promise<Page>,
): Promise<void> {
  let left = asked.limit ?? DEFAULT_LISTED
  let { cursor } = asked
  let isEmpty = true
  do {
    const page = await read(left, cursor).catch(error => {
      throw flagFault(error, command) ?? error
    })
    if (page.count > 0) await io.stdout.write(page.text)
    isEmpty &&= page.count === 0
    left -= page.count
    cursor = page.cursor
  } while (cursor !== undefined && left > 0)
  // The page after the last one is empty too, so a listing with a cursor does not say that there are none.
  const isPartial = isFiltered || asked.cursor !== undefined
  if (isEmpty) await io.stderr.write(`no ${what}${isPartial ? ' match' : ''}\n`)
  if (cursor !== undefined)
    await io.stderr.write(`more results: repeat the command with --cursor ${cursor}\n`)
}

const FLAGS: Readonly<Record<string, string>> = { 'query.cursor': '--cursor', 'query.startAt': '--start-at' }

/** The store names the field of its query; a person typed a flag. */
function flagFault(error: unknown, command: string): UsageError | undefined {
  if (!(error instanceof OptionsError)) return undefined
  const fault = error.faults.find(({ path }) => path in FLAGS)
  return (
    fault && new UsageError(`${command}: invalid ${FLAGS[fault.path]} ${fault.received}; ${fault.remedy}`)
  )
}
