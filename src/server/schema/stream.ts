import * as z from 'zod'
import { time } from './common.ts'

export const topic = z.enum(['letters', 'groups', 'replays', 'channels', 'demo'])
export type Topic = z.infer<typeof topic>

/** The data of `event: change`. */
export const changeEvent = z.object({
  topics: z.array(topic).describe('The kinds of data that have changed. Request them again.'),
  at: time.describe('The time of the change.'),
})
export type ChangeEvent = z.infer<typeof changeEvent>
