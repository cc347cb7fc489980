import * as z from 'zod'
import { faults, who } from './common.ts'
import { letterFilter } from './letters.ts'

const name = z.string().trim().min(1).max(100).describe('The name of the view.')
const shared = z.boolean().describe('Whether everyone has the view. Otherwise it is that of one person.')

/** Times may be spans, such as `1h`, which each use counts back from its own time. */
const filter = z
  .partialRecord(letterFilter.keyof(), z.string().min(1).max(1_000))
  .describe('The filter of letters as the address of the console has it. A time may be a span, such as `1h`.')

export const savedView = z.object({
  name,
  shared,
  default: z.boolean().describe('Whether the list of letters begins with this view.'),
  by: who.describe('The person who saved the view.'),
  filter,
})
export type SavedView = z.infer<typeof savedView>

export const viewList = z.object({
  views: z.array(savedView).describe('Your own views, then the shared ones, each by name.'),
  faults,
})
export type ViewList = z.infer<typeof viewList>

export const viewBody = z.strictObject({
  name,
  shared,
  default: z
    .boolean()
    .default(false)
    .describe('Whether the list of letters begins with it. The default is false.'),
  filter,
})
export type ViewBody = z.input<typeof viewBody>

export const viewDeleteBody = z.strictObject({ name, shared })
export type ViewDeleteBody = z.infer<typeof viewDeleteBody>
