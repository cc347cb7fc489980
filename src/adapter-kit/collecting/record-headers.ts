/** One header of a message. Several can have one name, and a value of Kafka can be null. */
export type RecordHeader = readonly [name: Buffer, value: Buffer | null]

/** The values of headers with one name, in the order of the record. */
export interface HeaderReader {
  /** The first value as text; undefined without such a header, and if its value is null. */
  first(name: string): string | undefined
  /** The last value as text. Programs that pass a record on append their headers. */
  last(name: string): string | undefined
  /** The first value as bytes. */
  firstBytes(name: string): Buffer | undefined
}

export function headerReader(headers: readonly RecordHeader[]): HeaderReader {
  const byName = new Map<string, Buffer[]>()
  for (const [name, value] of headers) {
    if (value === null) continue
    const text = name.toString('utf8')
    const values = byName.get(text)
    if (values === undefined) byName.set(text, [value])
    else values.push(value)
  }
  return {
    first: name => byName.get(name)?.[0]?.toString('utf8'),
    last: name => byName.get(name)?.at(-1)?.toString('utf8'),
    firstBytes: name => byName.get(name)?.[0],
  }
}
