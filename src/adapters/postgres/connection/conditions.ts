/** The conditions of a statement and the values of their parameters. */
export class Conditions {
  readonly values: unknown[]
  readonly #conditions: string[] = []

  /** The values of the first parameters, which the statement itself names. */
  constructor(...values: unknown[]) {
    this.values = values
  }

  /** `write` is given the number of the value's parameter. */
  add(value: unknown, write: (parameter: number) => string): this {
    this.#conditions.push(write(this.values.push(value)))
    return this
  }

  /** Adds `column = value`, unless the value is undefined. */
  equal(column: string, value: unknown): this {
    return value === undefined ? this : this.add(value, parameter => `${column} = $${parameter}`)
  }

  get text(): string {
    return this.#conditions.length === 0 ? 'true' : this.#conditions.join(' and ')
  }
}
