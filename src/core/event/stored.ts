import type { Faults } from '../options/faults.ts'
import { EventError } from './errors.ts'
import { parseJson } from './parse-json.ts'
import { isPlainObject } from './plain.ts'

/** Returns a stored record of the known version. Otherwise it reports the fault and returns undefined. */
export function readVersioned(
  value: unknown,
  known: number,
  path: string,
  faults: Faults,
): Readonly<Record<string, unknown>> | undefined {
  if (!isPlainObject(value)) {
    faults.add(path, value, 'give a JSON object')
    return undefined
  }
  const { v: version }: { readonly v?: unknown } = value
  if (version === known) return value
  const remedy =
    typeof version === 'number' && version > known
      ? `written by a newer Lazaret; update this one, which reads version ${known}`
      : `give version ${known}`
  faults.add(`${path}.v`, version, remedy)
  return undefined
}

export function parseStored(text: string, subject: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    const fault = {
      path: 'text',
      received: `text that is not JSON (${(error as Error).message})`,
      remedy: 'give the complete JSON text that was stored',
    }
    throw new EventError(subject, [fault], error)
  }
}
