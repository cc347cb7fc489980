/** A JSON line on stdout, for whatever collects logs. */
export function log(what: string, details: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ what, ...details })}\n`)
}
