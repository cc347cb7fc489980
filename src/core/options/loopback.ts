const LOOPBACK_V4 = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/

/** A host's name without brackets, final dot and upper case. */
export function bareHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}

/** Whether only this machine can reach it. */
export function isLoopback(host: string): boolean {
  const name = bareHost(host)
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || LOOPBACK_V4.test(name)
}

/** Others reach a server by such a name, and a server without tokens takes everyone for an admin. */
export const HOSTS_NEED_TOKENS =
  'give tokens as well, because without tokens everyone is admin, or leave allowedHosts out'
