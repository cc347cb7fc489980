/** A moment as a date picker wants it: local time to the minute. Empty for a span such as 1h, and for no time at all. */
export function localInput(text: string | undefined): string {
  const at = text === undefined || /^\d{1,6}[mhd]$/.test(text) ? Number.NaN : Date.parse(text)
  if (Number.isNaN(at)) return ''
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`
}

/** The moment that a date picker names, for the address. */
export function momentOfInput(value: string): string {
  const at = Date.parse(value)
  return Number.isNaN(at) ? '' : new Date(at).toISOString()
}
