const WHOLE = new Intl.NumberFormat('en-GB')
const ONE_DIGIT = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 })
// A narrow no-break space: groups of digits stay together and read the same in every language.
const THIN = ' '

/** 1 234 567 */
export function whole(value: number): string {
  return WHOLE.format(Math.round(value)).replaceAll(',', THIN)
}

/** As short as a table cell wants it: 950, 12.3k, 4.1M. */
export function short(value: number): string {
  const size = Math.abs(value)
  if (size < 10_000) return whole(value)
  if (size < 999_500) return `${ONE_DIGIT.format(value / 1_000)}k`
  return `${ONE_DIGIT.format(value / 1_000_000)}M`
}

/** Never rounds something to nothing, nor almost all to all: 0 % and 100 % are promises. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return '–'
  if (share <= 0) return '0 %'
  if (share >= 1) return '100 %'
  const rounded = Math.round(share * 100)
  if (rounded === 0) return '< 1 %'
  if (rounded === 100) return '> 99 %'
  return `${rounded} %`
}

/** 1 letter, 2 letters */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`
}

/** How much more or less than before; undefined when there is nothing to compare with. */
export function change(nowCount: number, before: number): { ratio: number; text: string } | undefined {
  if (before === 0) return nowCount === 0 ? { ratio: 0, text: 'no change' } : undefined
  const ratio = nowCount / before - 1
  if (Math.abs(ratio) < 0.005) return { ratio: 0, text: 'no change' }
  const shown = Math.abs(ratio) >= 10 ? `×${whole(nowCount / before)}` : `${whole(Math.abs(ratio) * 100)} %`
  return { ratio, text: `${ratio > 0 ? '↑' : '↓'} ${shown}` }
}

/** 812 B, 14 kB, 3.2 MB */
export function bytes(size: number): string {
  if (size < 1_000) return `${size} B`
  if (size < 1_000_000) return `${ONE_DIGIT.format(size / 1_000)} kB`
  return `${ONE_DIGIT.format(size / 1_000_000)} MB`
}
