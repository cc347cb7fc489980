/** Payloads that JSON cannot write, or that no store could read back. New for each test. Some versions of Node write any depth. */
export function unwritablePayloads(): Readonly<Record<string, unknown>> {
  const cyclic: Record<string, unknown> = { name: 'cyclic' }
  cyclic['self'] = { parent: cyclic }
  let deep: unknown = 'bottom'
  for (let level = 0; level < 100_000; level++) deep = { deep }
  const boom = (): never => {
    throw new Error('boom')
  }
  return {
    'a BigInt': { total: 12n, currency: 'EUR' },
    'a cycle': cyclic,
    ...(isWritable(deep) ? {} : { 'very deep': deep }),
    'a toJSON that throws': { order: 1, toJSON: boom },
    'a getter that throws': {
      order: 1,
      get total() {
        return boom()
      },
    },
    'a proxy that throws': new Proxy({}, { get: boom, ownKeys: boom, getPrototypeOf: boom, has: boom }),
    'a function': () => 'no data',
    'a symbol': Symbol('no data'),
  }
}

function isWritable(payload: unknown): boolean {
  try {
    JSON.stringify(payload)
    return true
  } catch {
    return false
  }
}
