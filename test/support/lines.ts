import type { LogFields, Logger, LogLevel } from '../../src/ports/logger.ts'

export interface WrittenLine {
  readonly level: LogLevel
  readonly message: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  readonly fields: any
}

/** A logger that remembers its lines. */
export class RecordingLogger implements Logger {
  readonly lines: WrittenLine[] = []

  debug(fields: LogFields, message: string): void {
    this.lines.push({ level: 'debug', message, fields })
  }

  info(fields: LogFields, message: string): void {
    this.lines.push({ level: 'info', message, fields })
  }

  warn(fields: LogFields, message: string): void {
    this.lines.push({ level: 'warn', message, fields })
  }

  error(fields: LogFields, message: string): void {
    this.lines.push({ level: 'error', message, fields })
  }

  /** Each as its level and what it is about. */
  get told(): string[] {
    return this.lines.map(({ level, fields }) => `${level} ${fields.what}`)
  }

  of(what: string): WrittenLine[] {
    return this.lines.filter(({ fields }) => fields.what === what)
  }

  /** How often it happened, as far as lines have told. */
  count(what: string): number {
    return this.of(what).reduce((sum, { fields }) => sum + fields.count, 0)
  }
}
