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
      return isOfClass(value) ? `an object of class ${value.constructor.name}` : 'an object'
    default:
      return String(value)
  }
}

function isOfClass(value: object): boolean {
  const made: unknown = value.constructor
  return typeof made === 'function' && made !== Object && made.name !== ''
}

/**
 * `scheme://user:secret@host` keeps its scheme and host; the rest must not appear in a log. Hides up to the last @
 * of a word, because a password pasted without escaping its / or @ is just what makes a URL end up in an error.
 */
export function withoutCredentials(text: string): string {
  // The stack of every module has file:// in it, and most have no @: to look at its words costs more than to look for that.
  const hasUser = text.includes('://') && text.includes('@')
  const usersHidden = hasUser ? text.replace(/\S+/g, hideUser) : text
  return usersHidden.includes('=') ? usersHidden.replace(SECRET_PARAMETER, '$1***') : usersHidden
}

const SECRET_PARAMETER = /([?&][^=&\s]{0,40}(?:pass|pwd|secret|token|key|sig|auth)[^=&\s]{0,40}=)[^&#\s]*/gi

function hideUser(word: string): string {
  const user = word.indexOf('://') + 3
  const host = word.lastIndexOf('@')
  return user > 2 && host >= user ? `${word.slice(0, user)}***${word.slice(host)}` : word
}

function clip(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text
}
