import type { BulkAction } from '../../operations/bulk.ts'
import { assignTo, exportAs } from '../../operations/bulk-actions.ts'
import { CSV_HEADER, letterCsv } from '../../operations/letter-csv.ts'
import { ReplayPatches } from '../../operations/replay-patches.ts'
import type { ServerContext } from '../context.ts'
import type { AssignBody, ExportBody } from '../schema/bulk.ts'
import type { NamedStore } from '../stores/federation.ts'
import { letterDetailView } from '../views/letter.ts'

export type BulkContext = Pick<
  ServerContext,
  'stores' | 'searches' | 'clock' | 'announce' | 'masks' | 'keysOf' | 'onError'
>

/** What a route does with the letters of one store. `write` is for an export. */
export type ActionFor<B> = (given: {
  readonly body: B
  readonly context: BulkContext
  readonly named: NamedStore
  readonly isFirst: boolean
  readonly write: (text: string) => void
}) => BulkAction

export const assignAction: ActionFor<AssignBody> = ({ body }) => assignTo(body.owner)

/** The letters as their page shows them: masked. */
export const exportAction: ActionFor<ExportBody> = ({ body: { format }, context, named, isFirst, write }) => {
  const patches = new ReplayPatches(named.store.replays, context.masks)
  if (format === 'csv' && isFirst) write(CSV_HEADER)
  return exportAs(
    format,
    async letter => {
      await patches.read([letter])
      return format === 'csv'
        ? letterCsv(letter, patches.masks)
        : `${JSON.stringify(letterDetailView(named.name, letter, patches.masks))}\n`
    },
    write,
  )
}
