import type { Io } from '../io.ts'
import { spanText } from './times.ts'
import { cutTo } from './width.ts'

const BAR = 24
const REPAINT_MS = 100
const CLEAR_LINE = '\r\u001b[2K'
const DEFAULT_COLUMNS = 80

/**
 * Shows one line on stderr with progress, rate and remaining time. Without a terminal it prints nothing, because progress
 * bars would fill a log.
 */
export class Progress {
  readonly #io: Io
  readonly #total: number | undefined
  readonly #startedAt: number
  #paintedAt = Number.NEGATIVE_INFINITY
  #isShown = false
  #base: number | undefined

  /** Without a total it shows a count only. */
  constructor(io: Io, total: number | undefined) {
    this.#io = io
    this.#total = total
    this.#startedAt = io.clock.now()
  }

  async show(done: number, note = ''): Promise<void> {
    const now = this.#io.clock.now()
    // The rate ignores work that an earlier run has done.
    this.#base ??= done
    if (!this.#io.stderr.isTerminal || now - this.#paintedAt < REPAINT_MS) return
    this.#paintedAt = now
    this.#isShown = true
    const columns = this.#io.stderr.columns ?? DEFAULT_COLUMNS
    await this.#io.stderr.write(CLEAR_LINE + cutTo(this.#line(done, now, note), columns - 1))
  }

  /** Removes the line. */
  async clear(): Promise<void> {
    if (this.#isShown) await this.#io.stderr.write(CLEAR_LINE)
    this.#isShown = false
  }

  #line(done: number, now: number, note: string): string {
    const perMs = (done - this.#base!) / Math.max(1, now - this.#startedAt)
    const parts = [
      this.#total === undefined ? String(done) : `${bar(done, this.#total)} ${done}/${this.#total}`,
    ]
    if (perMs > 0) parts.push(`${rateText(perMs * 1_000)}/s`)
    if (perMs > 0 && this.#total !== undefined && done < this.#total)
      parts.push(`${spanText(Math.ceil((this.#total - done) / perMs / 1_000) * 1_000)} left`)
    if (note !== '') parts.push(note)
    return parts.join(' · ')
  }
}

function bar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.floor(share * BAR)
  return `[${'█'.repeat(full)}${'░'.repeat(BAR - full)}] ${Math.floor(share * 100)}%`
}

function rateText(perSecond: number): string {
  return perSecond >= 10 ? String(Math.round(perSecond)) : perSecond.toFixed(1)
}
