import * as z from 'zod'
import type { StoreFault } from '../store-fault.ts'

// Every field of the API has a description: the OpenAPI document shows it to readers who do not see this code. A schema
// that is used under one meaning is described here; a field with a meaning of its own describes itself.

/** A text, with its description. */
export const text = (description: string) => z.string().describe(description)

/** A field that may be absent, with its description. */
export const optional = <S extends z.ZodType>(schema: S, description: string) =>
  schema.optional().describe(description)

export const optionalText = (description: string) => optional(z.string(), description)

/** Outside, times are ISO 8601 in UTC. */
export const time = z.iso.datetime({ offset: true }).describe('A time: ISO 8601 in UTC.')
export const storeName = z.string().max(200).describe('The name of the store, as the configuration gives it.')
export const id = z.string().min(1).max(200).describe('The id.')
export const count = z.int().min(0)
/** From 0 to 1. */
export const share = z.number().min(0).max(1)
/** The name of a person or program, as the audit log has it. */
export const who = z.string()
export const reason = z
  .string()
  .trim()
  .min(1)
  .max(1_000)
  .describe('The reason for the change. The audit log records it.')
export const limit = (most: number, usual: number) =>
  z.coerce
    .number()
    .int()
    .min(1)
    .max(most)
    .default(usual)
    .describe(`The largest number of results on a page: 1 to ${most}. The default is ${usual}.`)
export const cursor = z
  .string()
  .min(1)
  .max(2_000)
  .describe(
    'The position of the next page. Valid only for the same listing and filter; absent on the last page.',
  )
/** Any JSON value. It is taken as it is: what JSON.parse made is JSON, however deep, whatever its names. */
export const json = z.unknown() as unknown as z.ZodType<Json>

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

export const storeFault = z.object({
  store: storeName,
  problem: text('The error of the store, without credentials.'),
}) satisfies z.ZodType<StoreFault>
export type { StoreFault }

export const faults = optional(
  z.array(storeFault),
  'The stores that did not answer. The answer has the data of the other stores. Absent when all answered.',
)

const LATEST = 8.64e15

/** Epoch milliseconds inside, ISO 8601 outside. A time that no calendar has is shown as the nearest that one has. */
export function iso(ms: number): string {
  return new Date(Math.max(-LATEST, Math.min(LATEST, ms))).toISOString()
}

/** For fields that may be absent. */
export function isoOr(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms)
}
