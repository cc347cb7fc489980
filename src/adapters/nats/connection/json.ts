/** The value that these bytes are the JSON of. Throws if they are not valid JSON. */
export function parseJson(data: Uint8Array) {
  return JSON.parse(Buffer.from(data).toString('utf8'))
}

/** The same; undefined if the bytes are not valid JSON. */
export function readJson(data: Uint8Array): unknown {
  try {
    return parseJson(data)
  } catch {
    return undefined
  }
}
