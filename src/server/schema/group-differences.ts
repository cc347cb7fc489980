import * as z from 'zod'
import { count, optionalText, text } from './common.ts'

export const groupDifferences = z.object({
  failed: count.describe('The number of dead letters that were compared: the newest ones, at most 100.'),
  recovered: count.describe(
    'The number of resolved letters that were compared: the newest ones, at most 100, without those that recovered with an edited payload.',
  ),
  needed: count.describe('The number of letters of each kind without which nothing is compared.'),
  fields: z
    .array(
      z.object({
        field: text('The path of the field, as in a condition: `payload.country`.'),
        value: optionalText('The value as JSON. Absent if letters without the field are meant.'),
        failed: count.describe('The number of failed letters with this value.'),
        recovered: count.describe('The number of recovered letters with this value.'),
      }),
    )
    .describe('The fields whose value separates the two best, the best first. The list is bounded.'),
  masked: count.describe(
    'The number of fields that were not compared, because a mask hides a value of theirs.',
  ),
})
export type GroupDifferences = z.infer<typeof groupDifferences>
