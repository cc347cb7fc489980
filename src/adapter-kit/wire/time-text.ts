import { timeText } from '../../core/event/attributes.ts'

const MINUTE_LENGTH = '2026-01-02T03:04:'.length
const WHOLE_LENGTH = '2026-01-02T03:04:05.678Z'.length

/**
 * Reads times in the one form in which we write them. Messages that are read together were mostly published in the same minute, so
 * that the date is read once for many.
 */
export class TimeTextReader {
  #minute = ''
  #minuteMs = 0

  /** Epoch milliseconds; undefined if the time has another form or does not exist. */
  read(text: string): number | undefined {
    const hasForm = text.length === WHOLE_LENGTH && text[19] === '.' && text[23] === 'Z'
    if (!hasForm || !this.#isMinuteOf(text)) return undefined
    const seconds = numberAt(text, MINUTE_LENGTH, 2)
    const milliseconds = numberAt(text, 20, 3)
    // Of something that is not a number, no comparison is true.
    return seconds < 60 && milliseconds < 1_000 ? this.#minuteMs + 1_000 * seconds + milliseconds : undefined
  }

  #isMinuteOf(text: string): boolean {
    if (this.#minute !== '' && text.startsWith(this.#minute)) return true
    const minute = text.slice(0, MINUTE_LENGTH)
    const start = `${minute}00.000Z`
    const ms = Date.parse(start)
    if (Number.isNaN(ms) || timeText(ms) !== start) return false
    this.#minute = minute
    this.#minuteMs = ms
    return true
  }
}

const ZERO = 0x30

/** NaN if one of the characters is not a digit. */
function numberAt(text: string, from: number, length: number): number {
  let value = 0
  for (let at = from; at < from + length; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = 10 * value + digit
  }
  return value
}
