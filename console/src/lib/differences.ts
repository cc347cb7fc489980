export interface Difference {
  readonly name: string
  readonly before: string
  readonly after: string
  readonly isChanged: boolean
}

/** Two records field by field, the equal ones included. */
export function differences(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly Difference[] {
  return Object.keys(before).map(name => ({
    name,
    before: before[name]!,
    after: after[name]!,
    isChanged: before[name] !== after[name],
  }))
}
