import * as z from 'zod'
import { optional, optionalText, text } from './common.ts'

/** One fault of the request. */
export const inputFault = z.object({
  path: text('The field that is wrong, such as `filter.after`.'),
  received: text('The value that the server received, as text.'),
  remedy: text('The value to send instead.'),
})
export type InputFault = z.infer<typeof inputFault>

/** RFC 9457. `type` names the kind and stays the same between versions; `detail` is for a person. */
export const problem = z.object({
  type: text('The kind of problem, for programs. It does not change between versions.'),
  title: text('The kind of problem, for people.'),
  status: z.int().describe('The HTTP status.'),
  detail: text('What happened in this request, and what to do.'),
  instance: optionalText('The path of the request.'),
  faults: optional(z.array(inputFault), 'All faults of the request. Absent when the fields are valid.'),
})
export type Problem = z.infer<typeof problem>
