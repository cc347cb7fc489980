export interface Line {
  /** From 1. */
  readonly number: number
  /** Undefined when the line is too long to be taken. */
  readonly text: string | undefined
}

/** The longest letter that can be: a payload of 256 MiB, as base64 and with its history. */
const MOST_BYTES = 400 * 1024 * 1024
const NEWLINE = 10

/** Splits bytes into lines, keeping no more of them than one line. */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  mostBytes = MOST_BYTES,
): AsyncGenerator<Line> {
  const decoder = new TextDecoder()
  let parts: Uint8Array[] = []
  let size = 0
  let number = 0
  const finish = (): Line => {
    const text = size > mostBytes ? undefined : decoder.decode(Buffer.concat(parts))
    parts = []
    size = 0
    return { number: ++number, text }
  }
  const keep = (part: Uint8Array) => {
    size += part.length
    if (size <= mostBytes) parts.push(part)
    else parts = []
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, end))
      yield finish()
      from = end + 1
    }
    keep(chunk.subarray(from))
  }
  if (size > 0) yield finish()
}
