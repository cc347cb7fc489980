import { groupingOf } from '../../core/dead-letter/group.ts'
import { compareTwoLetters, type FieldDifference } from '../../operations/compare-letters.ts'
import { masksFor } from '../../operations/replay-patches.ts'
import { findLetter } from '../find-by-id.ts'
import type { showFlags } from '../flags.ts'
import { type Io, UsageError } from '../io.ts'
import { counted, fieldLines, heading } from '../print/fields.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { type Column, tableOn } from '../print/table.ts'
import { auditReveal, NO_MASKS, onStore } from '../session.ts'

export const dlqCompare = onStore<typeof showFlags>(async (session, { io, args, flags }) => {
  const first = await findLetter(session.store, args[0]!)
  const second = await findLetter(session.store, args[1]!)
  if (first.id === second.id)
    throw new UsageError(`${args[0]} and ${args[1]} are the same letter; give the IDs of two letters`)
  const reveals = flags.reveal === true
  if (reveals) for (const { id } of [first, second]) await auditReveal(session, { target: id })
  const compared = compareTwoLetters(
    first,
    second,
    reveals ? NO_MASKS : await masksFor(session.store, [first, second], session.masks),
  )
  if (flags.json) return io.stdout.write(jsonLine({ first: first.id, second: second.id, ...compared }))
  const paint = paintFor(io.stdout, io.env)
  const { differences, masked, stack } = compared
  const groups = [first, second].map(letter => groupingOf(letter).id)
  await io.stdout.write(
    [
      fieldLines(
        [
          ['first', `${first.id}  ${first.state}`],
          ['second', `${second.id}  ${second.state}`],
          ['group', compared.isSameGroup ? `${groups[0]}, of both` : `different: ${groups.join(' and ')}`],
        ],
        paint,
      ),
      '\n',
      differences.length === 0 ? '' : `${differenceTable(io).page(differences)}\n`,
      `${counted(compared.equal, 'field is', 'fields are')} equal.\n`,
      masked.length === 0 ? '' : `Masked, so not compared: ${masked.map(safeText).join(', ')}\n`,
      stack.first.length + stack.second.length === 0 ? '' : heading('Stack', paint),
      ...stack.first.map(line => `- ${safeText(line)}\n`),
      ...stack.second.map(line => `+ ${safeText(line)}\n`),
    ].join(''),
  )
})

function differenceTable(io: Io) {
  const columns: Column<FieldDifference>[] = [
    { title: 'FIELD', cell: ({ field }) => safeText(field), shrinksTo: 16 },
    { title: 'FIRST', cell: ({ first }) => safeText(first ?? '-'), shrinksTo: 16 },
    { title: 'SECOND', cell: ({ second }) => safeText(second ?? '-'), shrinksTo: 16 },
  ]
  return tableOn(io, columns)
}
