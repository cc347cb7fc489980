import { END, FIRST_LINE, type HeaderList } from './headers.ts'

/** A header as it stands in a message, and what is read from it. */
interface ReadLine {
  readonly line: string
  readonly header: HeaderList[number]
}

/**
 * Reads the headers of delivered messages. Those of one stream mostly differ in an id and a time only, so that a header that is
 * the same as in the message before is not read again.
 */
export class HeaderReader {
  #before: readonly ReadLine[] = []

  /** Undefined if the bytes are not the headers of a message. */
  read(bytes: Buffer): HeaderList | undefined {
    const text = bytes.toString('utf8')
    if (!text.startsWith(FIRST_LINE) || !text.endsWith(END + END)) return undefined
    const lines: ReadLine[] = []
    const headers: HeaderList[number][] = []
    const end = text.length - END.length
    for (let at = FIRST_LINE.length; at < end; ) {
      const before = this.#before[headers.length]
      const read =
        before !== undefined && text.startsWith(before.line, at) ? before : readLine(text, at, before)
      at += read.line.length
      // As the client does, lines without a name are ignored.
      if (read.header === NO_HEADER) continue
      lines.push(read)
      headers.push(read.header)
    }
    this.#before = lines
    return headers
  }
}

const NO_HEADER: HeaderList[number] = ['', '']

/** The name is that of the message before if it is the same, because equal texts that are one object are compared faster. */
function readLine(text: string, from: number, before: ReadLine | undefined): ReadLine {
  const end = text.indexOf(END, from)
  const line = text.slice(from, end + END.length)
  const colon = line.indexOf(':')
  if (colon === -1) return { line, header: NO_HEADER }
  const known = before?.header[0] ?? ''
  const name = colon === known.length && line.startsWith(known) ? known : line.slice(0, colon)
  return { line, header: [name, line.slice(colon + 1).trim()] }
}
