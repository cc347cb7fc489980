import type { Missing } from './debian.ts'

/** Set by `npm run matrix`. */
export const RECEIVERS = 'LAZARET_TEST_RECEIVERS'

/** A receiver for the tests of a sink, if it is asked for: to build or to download one takes minutes. */
export async function ifAsked<T extends { readonly found: true }>(
  find: () => Promise<T | Missing>,
): Promise<T | Missing> {
  return process.env[RECEIVERS] === '1' ? find() : { found: false, why: 'npm run matrix runs it' }
}
