import type { Fact } from '../history.ts'

/** A call that hangs ends within this time, with or without its effect. */
export const LONGEST_CALL_MS = 20_000

interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

/**
 * Whether something interrupted the work of a process: it crashed or was closed in this time, or a call that was under way
 * then failed, hung or lost its answer.
 */
export function wasInterrupted(
  facts: readonly Fact[],
  process: string,
  { fromMs, untilMs }: Span,
  isMeant: (fault: { readonly port: string; readonly call: string }) => boolean,
): boolean {
  return facts.some(fact => {
    if (fact.at > untilMs) return false
    if (fact.what === 'machineCrashed' || fact.what === 'machineClosed')
      return fact.machine === process && fact.at >= fromMs
    // The history has a fault when the call begins.
    if (fact.what !== 'fault' || fact.where !== process || fact.kind === 'late') return false
    return fact.at >= fromMs - LONGEST_CALL_MS && isMeant(fact)
  })
}
