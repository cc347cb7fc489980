const SCHEME = /^\w+:\/\//
const SERVER = /^(nats|tls):\/\/(?:([^@/?#]*)@)?((?:\[[\da-f:.]+\]|[^@/?#,\s:[\]]+)(?::\d+)?)\/?$/i

/** The parts of a URL that the client takes as separate options. */
interface UrlParts {
  /** Without login, such as `n1:4222`. */
  readonly servers: readonly string[]
  readonly usesTls: boolean
  readonly user: string | undefined
  readonly password: string | undefined
  /** A login without a colon is a token. */
  readonly token: string | undefined
}

/**
 * Reads one or more servers with commas between them. The scheme and the login are those of the first server that has them, as
 * in `nats://user:password@n1:4222,n2:4222`. Undefined if it is not such a URL: a comma in a password would make its parts
 * look like servers, which errors name.
 */
export function readUrl(url: string): UrlParts | undefined {
  const servers: string[] = []
  let usesTls = false
  let login: string | undefined
  for (const text of url.split(',')) {
    const server = text.trim()
    const hasScheme = SCHEME.test(server)
    const match = SERVER.exec(hasScheme ? server : `nats://${server}`)
    if (match === null) return undefined
    const [, scheme = '', given, host = ''] = match
    if (given !== undefined && !hasScheme) return undefined
    usesTls ||= scheme.toLowerCase() === 'tls'
    login ??= given
    servers.push(host)
  }
  if (!/^(?:nats|tls):\/\//i.test(url)) return undefined
  const [name, ...rest] = (login ?? '').split(':')
  try {
    const user = rest.length > 0 ? decodeURIComponent(name!) : undefined
    const password = rest.length > 0 ? decodeURIComponent(rest.join(':')) : undefined
    const token = login !== undefined && rest.length === 0 ? decodeURIComponent(login) : undefined
    return { servers, usesTls, user, password, token }
  } catch {
    return undefined
  }
}
