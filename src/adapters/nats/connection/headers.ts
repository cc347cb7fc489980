/** The headers of a message, in their order. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

export const FIRST_LINE = 'NATS/1.0\r\n'
export const END = '\r\n'

/** The headers as they stand in a message. Names and values contain no line breaks; those who make headers see to it. */
export function encodeHeaders(headers: HeaderList): Uint8Array {
  let text = FIRST_LINE
  for (const [name, value] of headers) text += `${name}: ${value}${END}`
  return Buffer.from(text + END)
}

/** Reads the headers of a stored message. The last of several values counts, as it does for messages that are delivered. */
export function decodeHeaders(bytes: Uint8Array): HeaderList {
  const [, ...lines] = Buffer.from(bytes).toString('utf8').split(END)
  const headers: (readonly [string, string])[] = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.push([line.slice(0, colon), line.slice(colon + 1).trim()])
  }
  return headers
}

export function headerText(headers: HeaderList, name: string): string | undefined {
  for (let at = headers.length - 1; at >= 0; at--) if (headers[at]![0] === name) return headers[at]![1]
  return undefined
}

export function withoutHeaders(headers: HeaderList, isLeftOut: (name: string) => boolean): HeaderList {
  return headers.filter(([name]) => !isLeftOut(name))
}
