import type { Paint } from './style.ts'
import { widthOf } from './width.ts'

/** `name  value` lines, aligned; a field without a value is left out. */
export function fieldLines(fields: readonly (readonly [string, string | undefined])[], paint: Paint): string {
  const present = fields.filter((field): field is readonly [string, string] => field[1] !== undefined)
  const width = Math.max(0, ...present.map(([name]) => widthOf(name)))
  return present
    .map(([name, value]) => `  ${paint('dim', name)}${' '.repeat(width - widthOf(name))}  ${value}\n`)
    .join('')
}

export function heading(text: string, paint: Paint): string {
  return `\n${paint('bold', text)}\n`
}

/** `1 letter`, `1 200 letters`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en').replaceAll(',', ' ')} ${count === 1 ? one : many}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** `512 B`, `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1024 ** power
  return `${power > 0 && size < 10 ? size.toFixed(1) : Math.floor(size)} ${UNITS[power]}`
}
