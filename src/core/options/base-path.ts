import { custom, derived, type Rule } from './rules.ts'

/** Names without characters that a URL encodes, so that the path of a request has the prefix in one spelling only. */
const BASE_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]{1,100}){0,10}\/?$/

export const BASE_PATH_REMEDY =
  "give a path such as '/lazaret': it begins with '/', and its names have letters, digits, '-', '_', '.' and '~'"

/** The path below which the server answers, without a final slash. Empty means the root. */
export const basePathRule: Rule<string> = derived(
  custom(isBasePath, BASE_PATH_REMEDY, { kind: 'text', pattern: BASE_PATH }),
  withoutFinalSlash,
)

/** Undefined if the text is not a path prefix. */
export function readBasePath(text: string): string | undefined {
  return isBasePath(text) ? withoutFinalSlash(text) : undefined
}

function isBasePath(value: unknown): value is string {
  return typeof value === 'string' && BASE_PATH.test(value)
}

function withoutFinalSlash(path: string): string {
  return path.replace(/\/$/, '')
}
