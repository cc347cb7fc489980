import * as z from 'zod'
import { time } from './common.ts'

export const topic = z.enum(['letters', 'groups', 'replays', 'channels', 'demo'])
export type Topic = z.infer<typeof topic>

/** The data of `event: change`: what to ask for again. */
export const changeEvent = z.object({ topics: z.array(topic), at: time })
export type ChangeEvent = z.infer<typeof changeEvent>
