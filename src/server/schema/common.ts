import * as z from 'zod'

/** Outside, times are ISO 8601 in UTC. */
export const time = z.iso.datetime({ offset: true })
/** Which of the stores it lies in. */
export const storeName = z.string().max(200)
export const id = z.string().min(1).max(200)
export const count = z.int().min(0)
/** From 0 to 1. */
export const share = z.number().min(0).max(1)
/** Who, for the audit. */
export const who = z.string()
/** Why it is done: it goes to the audit. */
export const reason = z.string().trim().min(1).max(1_000)
export const limit = (most: number, usual: number) => z.coerce.number().int().min(1).max(most).default(usual)
export const cursor = z.string().min(1).max(2_000)
/** Any JSON value. It is taken as it is: what JSON.parse made is JSON, however deep, whatever its names. */
export const json = z.unknown() as unknown as z.ZodType<Json>

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** A store that did not answer: the answer has only the data of the others. */
export const storeFault = z.object({ store: storeName, problem: z.string() })
export type StoreFault = z.infer<typeof storeFault>

/** Present only when a store did not answer. */
export const faults = z.array(storeFault).optional()

const LATEST = 8.64e15

/** Epoch milliseconds inside, ISO 8601 outside. A time that no calendar has is shown as the nearest that one has. */
export function iso(ms: number): string {
  return new Date(Math.max(-LATEST, Math.min(LATEST, ms))).toISOString()
}

/** For fields that may be absent. */
export function isoOr(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms)
}
