import { END, FIRST_LINE, type HeaderList } from './headers.ts'

/** A header as it stands in a message, and what is read from it. */
interface ReadLine {
  readonly line: string
  readonly header: HeaderList[number]
}

const LAST_LINES = END + END
/** Lines of messages with very many headers are not kept. */
const MAX_KEPT = 100
const NO_HEADER: HeaderList[number] = ['', '']

/**
 * Reads the headers of delivered messages. Those of one stream mostly differ in an id and a time only, so that a header that is
 * the same as in the message before is not read again.
 */
export class HeaderReader {
  /** The lines of the message before, and after them those of earlier messages that had more. */
  readonly #before: ReadLine[] = []

  /** Undefined if the bytes are not the headers of a message. */
  read(bytes: Buffer): HeaderList | undefined {
    const text = bytes.toString('utf8')
    if (!text.startsWith(FIRST_LINE) || !text.endsWith(LAST_LINES)) return undefined
    const headers: HeaderList[number][] = []
    const end = text.length - END.length
    for (let at = FIRST_LINE.length, index = 0; at < end; index++) {
      let read = this.#before[index]
      if (read === undefined || !text.startsWith(read.line, at)) {
        read = readLine(text, at, read?.header[0] ?? '')
        if (index < MAX_KEPT) this.#before[index] = read
      }
      at += read.line.length
      // As the client does, lines without a name are ignored.
      if (read.header !== NO_HEADER) headers.push(read.header)
    }
    return headers
  }
}

/** A name that stays the same is the same object, because such texts are compared faster. */
function readLine(text: string, from: number, before: string): ReadLine {
  const end = text.indexOf(END, from)
  const line = text.slice(from, end + END.length)
  const colon = line.indexOf(':')
  if (colon === -1) return { line, header: NO_HEADER }
  const isSame = colon === before.length && line.startsWith(before)
  return { line, header: [isSame ? before : line.slice(0, colon), line.slice(colon + 1).trim()] }
}
