import { expect } from 'vitest'
import { LazaretError } from '../../src/core/failure/errors.ts'

/** Reads the input. Only an error of Lazaret may come out: it names the thing, the value and the remedy. */
export function readsOrRefuses(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    requireOwnError(error)
  }
  requireCleanPrototype()
}

/** The same for readers that wait. */
export async function readsOrRefusesLater(read: () => Promise<unknown>): Promise<void> {
  await read().catch(requireOwnError)
  requireCleanPrototype()
}

function requireOwnError(error: unknown): void {
  if (!(error instanceof LazaretError)) throw error
  expect(error.code).toMatch(/^LAZARET_/)
}

function requireCleanPrototype(): void {
  expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
}
