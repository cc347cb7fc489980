import * as z from 'zod'
import { text } from './common.ts'

const maskSet = z.object({
  active: z.boolean().describe('Whether these masks apply.'),
  names: z
    .array(z.string())
    .describe(
      'Names of properties whose values are masked; case and punctuation do not count, `*` is any run of characters.',
    ),
  paths: z.array(z.string()).describe('Paths that are masked, from the event on.'),
  texts: z
    .array(text('A kind of text in words, or an expression.'))
    .describe('What is masked inside of texts: in words for built-in masks, expressions for your own.'),
})

export const maskList = z.object({
  known: z
    .boolean()
    .describe(
      'False if the server was given masks of another origin than `createMasks`: then the sets are empty.',
    ),
  secrets: maskSet.describe('The built-in masks of secrets.'),
  personalData: maskSet.describe('The built-in masks of personal data: names, phones and streets.'),
  own: maskSet.describe('The masks that the configuration adds.'),
})
export type MaskList = z.infer<typeof maskList>
export type MaskSet = z.infer<typeof maskSet>
