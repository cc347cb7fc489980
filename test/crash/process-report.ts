/** What a process said about its letters, up to its end. */
export interface ProcessReport {
  readonly sent: ReadonlySet<string>
  readonly discarding: ReadonlySet<string>
  readonly discarded: ReadonlySet<string>
  readonly deleting: ReadonlySet<string>
  readonly deleted: ReadonlySet<string>
  readonly failures: readonly { readonly code: string; readonly message: string }[]
}

/** The last line may be torn by the end of the process: it says nothing then. */
export function readProcessReport(output: string): ProcessReport {
  const words = output
    .split('\n')
    .slice(0, -1)
    .map(line => line.split(' '))
  const said = (what: string) => new Set(words.filter(([first]) => first === what).map(([, id]) => id!))
  return {
    sent: said('sent'),
    discarding: said('discarding'),
    discarded: said('discarded'),
    deleting: said('deleting'),
    deleted: said('deleted'),
    failures: words
      .filter(([first]) => first === 'failed')
      .map(([, , code, ...message]) => ({ code: code!, message: JSON.parse(message.join(' ')) })),
  }
}

interface Stored {
  readonly state: string
  readonly event: { readonly id: string; readonly payload: unknown }
}

/** What is wrong with what is stored, held against what was acknowledged; nothing when all is well. */
export async function violations(
  report: ProcessReport,
  get: (id: string) => Promise<Stored | undefined>,
): Promise<string[]> {
  const found: string[] = []
  for (const id of report.sent) {
    const letter = await get(id)
    if (letter === undefined && !report.deleting.has(id)) found.push(`${id} was acknowledged and is lost`)
    if (letter !== undefined && report.deleted.has(id)) found.push(`${id} was deleted and is back`)
    if (letter === undefined) continue
    const { state, event } = letter
    if (state === 'dead' && report.discarded.has(id)) found.push(`${id} was discarded and is ${state}`)
    if (state !== 'dead' && !report.discarding.has(id)) found.push(`${id} is ${state} by nobody`)
    if ((event.payload as { id?: string }).id !== event.id) found.push(`${id} has another's payload`)
  }
  return found
}
