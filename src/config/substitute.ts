export type Env = Readonly<Record<string, string | undefined>>

interface VariableProblem {
  /** The variable that is not set; undefined for a `${` without a name. */
  readonly variable: string | undefined
  readonly received: string
  readonly remedy: string
}

interface Substituted {
  readonly text: string
  /** Whether a variable was substituted: such a text may hold a secret and is never shown. */
  readonly isFromEnvironment: boolean
  /** Variables that are not set and have no default, or a `${` that begins no variable. */
  readonly problems: readonly VariableProblem[]
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: it shows how a variable is written
const SYNTAX_HELP = 'write ${NAME} or ${NAME:-default}, or $${ for a literal ${'

/** `$${` is a plain `${`; a default may hold anything but a closing brace. */
const VARIABLE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?-)([^}]*))?\}|\$\{/g

/**
 * Puts the environment into a text: `${NAME}`, or `${NAME:-default}` for when it is not set or empty, or
 * `${NAME-default}` for when it is not set. A substituted value is not substituted again.
 */
export function substitute(text: string, env: Env): Substituted {
  const missing: string[] = []
  let isFromEnvironment = false
  let isMalformed = false
  const replaced = text.replace(VARIABLE, (whole, name?: string, operator?: string, fallback?: string) => {
    if (whole === '$${') return '${'
    if (name === undefined) {
      isMalformed = true
      return whole
    }
    isFromEnvironment = true
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && (value !== '' || operator !== ':-')) return value
    if (operator === undefined) missing.push(name)
    return fallback ?? ''
  })
  const problems = missing.map(name => ({
    variable: `\${${name}}`,
    received: 'a variable that is not set',
    remedy: `set it, or write \${${name}:-default}`,
  }))
  const malformed = { variable: undefined, received: "a '${' without a variable name", remedy: SYNTAX_HELP }
  return {
    text: replaced,
    isFromEnvironment,
    problems: isMalformed && missing.length === 0 ? [malformed] : problems,
  }
}
