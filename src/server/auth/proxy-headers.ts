import { BlockList, isIPv6 } from 'node:net'
import { ProblemError } from '../problem.ts'
import { type Caller, personCaller, personName } from './caller.ts'
import { type RoleMap, roleOf } from './roles.ts'

interface ProxyHeadersOptions extends RoleMap {
  readonly addresses: readonly string[]
  readonly userHeader: string
  readonly groupsHeader: string
}

/** What the server knows of the connection of a request. */
export interface Connection {
  /** The address of the client, or of its proxy; undefined if the server does not know it. */
  readonly from: string | undefined
  /** The headers as they arrived, names and values in turn; undefined if the server does not know them. */
  readonly rawHeaders: readonly string[] | undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What the headers of a request say. `ignored` has the reason why they count for nothing. */
type ProxyAnswer = { readonly caller: Caller } | { readonly ignored: string | undefined }

/** Knows people by the headers of a proxy that has authenticated them, if the request comes from the proxy itself. */
export class ProxyHeaders {
  readonly #options: ProxyHeadersOptions
  readonly #trusted = new BlockList()

  constructor(options: ProxyHeadersOptions) {
    this.#options = options
    for (const each of options.addresses) {
      const [address = '', prefix] = each.split('/')
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      if (prefix === undefined) this.#trusted.addAddress(address, family)
      else this.#trusted.addSubnet(address, Number(prefix), family)
    }
  }

  /** Headers that name addresses are for others. */
  read({ headers }: Request, { from, rawHeaders = [] }: Connection): ProxyAnswer {
    const { userHeader, groupsHeader } = this.#options
    const user = headers.get(userHeader)
    if (user === null) return { ignored: undefined }
    if (!this.#isTrusted(from))
      return {
        ignored: `The header ${userHeader} counts only from the addresses of signIn.proxy.addresses, and this request came from ${from ?? 'an unknown address'}.`,
      }
    // A second header is joined to the first with a comma. The client may have sent one of them.
    const twice = [userHeader, groupsHeader].find(header => countOf(header, rawHeaders) > 1)
    if (twice !== undefined)
      return {
        ignored: `The header ${twice} arrived twice. The proxy must set it once, and drop what a client sends.`,
      }
    const name = user.includes(',') ? undefined : personName(decoded(user))
    if (name === undefined)
      return {
        ignored: `The header ${userHeader} has no valid name. The proxy must set it once, without a comma.`,
      }
    const groups = decoded(headers.get(groupsHeader) ?? '')
      .split(',')
      .map(group => group.trim())
    const role = roleOf(this.#options, groups)
    if (role === undefined)
      throw new ProblemError(
        'forbidden',
        `None of the groups of ${name} has a role on this server. Ask its administrator to add one to signIn.proxy.roles.`,
      )
    return { caller: personCaller('proxy', name, role) }
  }

  #isTrusted(from: string | undefined): boolean {
    if (from === undefined) return false
    // A server that listens on `::` sees IPv4 addresses in this form.
    const address = from.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
    return this.#trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  }
}

function countOf(header: string, rawHeaders: readonly string[]): number {
  const name = header.toLowerCase()
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length
}

/** Node shows each byte of a header as one character. Proxies send UTF-8, and old ones Latin-1. */
function decoded(value: string): string {
  try {
    return utf8.decode(Buffer.from(value, 'latin1'))
  } catch {
    return value
  }
}
