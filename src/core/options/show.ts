const SHOWN_MAX = 60

/**
 * A value as an error message may show it: short, on one line, never throwing, and without the credentials of a URL.
 */
export function show(value: unknown): string {
  try {
    return clip(describe(value))
  } catch {
    return 'a value that cannot be read'
  }
}

function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(withoutCredentials(value))
    case 'bigint':
      return `${value}n`
    case 'function':
      return 'a function'
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return `an array of ${value.length}`
      return 'an object'
    default:
      return String(value)
  }
}

/** `scheme://user:secret@host` keeps its scheme and host; the rest is nobody's business in a log. */
export function withoutCredentials(text: string): string {
  return text.replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^/?#\s]*@/gi, '$1***@')
}

function clip(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text
}
