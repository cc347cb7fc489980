import type { Io } from '../io.ts'

const DEFAULT_LISTED = 100

interface Page {
  readonly count: number
  readonly text: string
  readonly cursor: string | undefined
}

/** Writes a listing page by page until there are no more, or as many as were asked for. */
export async function writePages(
  io: Io,
  asked: { readonly limit: number | undefined; readonly cursor: string | undefined },
  what: string,
  read: (atMost: number, cursor: string | undefined) => Promise<Page>,
): Promise<void> {
  let left = asked.limit ?? DEFAULT_LISTED
  let { cursor } = asked
  let isEmpty = true
  do {
    const page = await read(left, cursor)
    if (page.count > 0) await io.stdout.write(page.text)
    isEmpty &&= page.count === 0
    left -= page.count
    cursor = page.cursor
  } while (cursor !== undefined && left > 0)
  if (isEmpty) await io.stderr.write(`no ${what} match\n`)
  if (cursor !== undefined)
    await io.stderr.write(`more results: repeat the command with --cursor ${cursor}\n`)
}
