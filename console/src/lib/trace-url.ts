const PLACE = '{traceId}'

/** Where a trace is looked at, or undefined when the address is none. Only web addresses become links. */
export function traceUrl(address: string, traceId: string): string | undefined {
  if (!/^https?:\/\//i.test(address) || !address.includes(PLACE)) return undefined
  const url = address.replaceAll(PLACE, encodeURIComponent(traceId))
  return URL.canParse(url) ? url : undefined
}
