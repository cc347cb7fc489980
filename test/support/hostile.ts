/** What a handler may throw although nobody would: each breaks code that trusts an error to be one. */
export const HOSTILE_VALUES: Readonly<Record<string, () => unknown>> = {
  'a proxy that throws on every touch': () =>
    new Proxy(new Error('x'), { getPrototypeOf: boom, get: boom, has: boom, ownKeys: boom }),
  'a proxy without a prototype to ask for': () => new Proxy(new Error('x'), { getPrototypeOf: boom }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'an error with getters that throw': () =>
    ['message', 'name', 'code', 'cause', 'stack', 'status'].reduce(
      (error, key) => Object.defineProperty(error, key, { get: boom }),
      new Error('x'),
    ),
  'an object without a prototype': () => Object.create(null),
  'a symbol': () => Symbol('s'),
  'a huge message': () => new Error('x'.repeat(200_000)),
  null: () => null,
  undefined: () => undefined,
  'a bigint': () => 10n ** 30n,
  'a promise that rejects': () => {
    const rejecting = Promise.reject(new Error('inner'))
    rejecting.catch(() => {})
    return rejecting
  },
}

function boom(): never {
  throw new Error('boom')
}
