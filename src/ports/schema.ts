/** The part of the Standard Schema specification (v1) that Lazaret uses: zod, valibot, arktype and others fit it. */
export interface StandardSchema<Output = unknown> {
  /** The properties of Standard Schema. A schema library fills them in. */
  readonly '~standard': {
    /** The version of the specification. */
    readonly version: 1
    /** The name of the schema library. */
    readonly vendor: string
    /** Checks a value, and returns the parsed value or the issues. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    /** The types of the schema, for the compiler only [none]. */
    readonly types?:
      | {
          /** The type before parsing. */
          readonly input: unknown
          /** The type after parsing. */
          readonly output: Output
        }
      | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
