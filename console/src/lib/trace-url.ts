const PLACE = '{traceId}'

/** The link to a trace, or undefined when the address is not valid. Only web addresses become links. */
export function traceUrl(address: string, traceId: string): string | undefined {
  if (!/^https?:\/\//i.test(address) || !address.includes(PLACE)) return undefined
  const url = address.replaceAll(PLACE, encodeURIComponent(traceId))
  return URL.canParse(url) ? url : undefined
}
