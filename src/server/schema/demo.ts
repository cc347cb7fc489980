import * as z from 'zod'

/** One step of the story: what happens, whether it has, and the button that makes it happen, if it needs one. */
export const demoStep = z.object({
  id: z.string(),
  title: z.string(),
  text: z.string(),
  done: z.boolean(),
  action: z.object({ id: z.string(), label: z.string(), enabled: z.boolean() }).optional(),
  /** Where in the console it is to be seen. */
  href: z.string().optional(),
})
/** One step of the demo. */
export type DemoStep = z.infer<typeof demoStep>

export const demoState = z.object({
  title: z.string(),
  steps: z.array(demoStep),
  /** Other facts of the demo, such as the seed or the broken services. */
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
})
/** The state of the demo, as the console shows it. */
export type DemoState = z.infer<typeof demoState>
