/** A context for writes that nobody stops. */
export const neverAborted = (): { readonly signal: AbortSignal } => ({ signal: new AbortController().signal })

/** What a promise was rejected with; a promise that is kept is a fault of the test. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('it was to be rejected and was not')
}
