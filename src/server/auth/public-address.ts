const MAX_RETURN_PATH = 1_500

/** Where browsers find the server. It comes from the configuration and never from a request. */
export class PublicAddress {
  readonly origin: string
  readonly host: string
  readonly basePath: string
  /** Whether cookies are for https only. */
  readonly isSecure: boolean

  constructor(publicUrl: string, basePath: string) {
    const { origin, host, protocol } = new URL(publicUrl)
    this.origin = origin
    this.host = host
    this.basePath = basePath
    this.isSecure = protocol === 'https:'
  }

  /** The URL of the server, without a final slash. */
  get url(): string {
    return this.origin + this.basePath
  }

  get cookiePath(): string {
    return this.basePath || '/'
  }

  /**
   * The path to which a person returns after signing in: only one of this server, because a link to the sign-in must not
   * lead to another site. Anything else becomes the first page.
   */
  returnPath(asked: string | undefined): string {
    const home = `${this.basePath}/`
    // A browser reads a backslash as a slash, and drops tabs and line breaks.
    if (asked === undefined || asked.length > MAX_RETURN_PATH || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(asked))
      return home
    const url = URL.parse(asked, this.origin)
    if (url === null || url.origin !== this.origin || !url.pathname.startsWith(home)) return home
    return url.pathname + url.search
  }
}
