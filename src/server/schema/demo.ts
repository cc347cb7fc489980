import * as z from 'zod'
import type { DemoState, DemoStep } from '../demo-control.ts'
import { optional, optionalText, text } from './common.ts'

export const demoStep = z.object({
  id: text('The id of the step.'),
  title: text('The title of the step.'),
  text: text('What happens in the step.'),
  done: z.boolean().describe('Whether the step has happened.'),
  action: z
    .object({
      id: text('The id of the action, for `POST /api/v1/demo/ID`.'),
      label: text('The text of the button.'),
      enabled: z.boolean().describe('Whether the action can run now.'),
    })
    .optional()
    .describe('The action that makes the step happen. Absent when the step needs none.'),
  href: optionalText('The page of the console that shows the step. Absent when there is none.'),
}) satisfies z.ZodType<DemoStep>

export const demoState = z.object({
  title: text('The title of the demo.'),
  steps: z.array(demoStep).describe('The steps of the demo, in order.'),
  facts: optional(
    z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    'Other facts of the demo, such as the seed or the broken services.',
  ),
}) satisfies z.ZodType<DemoState>

export type { DemoState, DemoStep }
