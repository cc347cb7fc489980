import { isArray, property } from './thrown.ts'

/**
 * Returns the HTTP status that an error reports, in any of the fields that clients use. A success status is not a
 * failure.
 */
export function httpStatusOf(error: unknown): number | undefined {
  const own = asStatus(property(error, 'status')) ?? asStatus(property(error, 'statusCode'))
  if (own !== undefined) return own
  const response = property(error, 'response')
  return (
    asStatus(property(response, 'status')) ??
    asStatus(property(response, 'statusCode')) ??
    asStatus(property(property(error, '$metadata'), 'httpStatusCode'))
  )
}

export function httpHeaderOf(error: unknown, name: string): string | undefined {
  return (
    headerIn(property(error, 'headers'), name) ??
    headerIn(property(property(error, 'response'), 'headers'), name)
  )
}

function asStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^[45]\d\d$/.test(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599
    ? status
    : undefined
}

/** Clients keep headers as a `Headers`, a Map, or an object with names in the server's case or in lower case. */
function headerIn(headers: unknown, name: string): string | undefined {
  const lower = name.toLowerCase()
  const value = got(headers, lower) ?? property(headers, lower) ?? property(headers, name)
  const single = isArray(value) ? property(value, 0) : value
  if (typeof single === 'number') return String(single)
  return typeof single === 'string' ? single : undefined
}

function got(headers: unknown, name: string): unknown {
  const get = property(headers, 'get')
  if (typeof get !== 'function') return undefined
  try {
    return get.call(headers, name)
  } catch {
    return undefined
  }
}
