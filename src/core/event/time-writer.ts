const MINUTE_MS = 60_000

/** Writes times as `Date.toISOString` does. Most times of a moment are in one minute, whose date is written once for them. */
export class TimeWriter {
  #minute = Number.NaN
  #text = ''

  write(ms: number): string {
    // A fraction, and what is not a time, are left to the date.
    if (!Number.isInteger(ms)) return new Date(ms).toISOString()
    const minute = Math.floor(ms / MINUTE_MS)
    if (minute !== this.#minute) {
      this.#text = new Date(ms).toISOString().slice(0, -'05.678Z'.length)
      this.#minute = minute
    }
    const rest = ms - minute * MINUTE_MS
    const seconds = Math.floor(rest / 1_000)
    return `${this.#text}${padded(seconds, 2)}.${padded(rest - seconds * 1_000, 3)}Z`
  }
}

/** As `padStart`, which costs as much as the date. */
function padded(value: number, digits: 2 | 3): string {
  if (value < 10) return digits === 3 ? `00${value}` : `0${value}`
  return digits === 3 && value < 100 ? `0${value}` : `${value}`
}
