import * as z from 'zod'

/** One thing that is wrong with what was sent: where, what was there, what to give instead. */
export const inputFault = z.object({ path: z.string(), received: z.string(), remedy: z.string() })
export type InputFault = z.infer<typeof inputFault>

/** RFC 9457. `type` names the kind and stays the same between versions; `detail` is for a person. */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string().optional(),
  faults: z.array(inputFault).optional(),
})
export type Problem = z.infer<typeof problem>
