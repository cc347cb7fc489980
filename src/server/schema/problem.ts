import * as z from 'zod'

/** One fault of the request. */
export const inputFault = z.object({
  path: z.string().describe('The field that is wrong, such as `filter.after`.'),
  received: z.string().describe('The value that the server received, as text.'),
  remedy: z.string().describe('The value to send instead.'),
})
export type InputFault = z.infer<typeof inputFault>

/** RFC 9457. `type` names the kind and stays the same between versions; `detail` is for a person. */
export const problem = z.object({
  type: z.string().describe('The kind of problem, for programs. It does not change between versions.'),
  title: z.string().describe('The kind of problem, for people.'),
  status: z.int().describe('The HTTP status.'),
  detail: z.string().describe('What happened in this request, and what to do.'),
  instance: z.string().optional().describe('The path of the request.'),
  faults: z
    .array(inputFault)
    .optional()
    .describe('All faults of the request. Absent when the fields are valid.'),
})
export type Problem = z.infer<typeof problem>
