/** The value that these bytes are the JSON of; undefined if they are not valid JSON. */
export function readJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString('utf8'))
  } catch {
    return undefined
  }
}
