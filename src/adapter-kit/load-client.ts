import { LazaretError } from '../core/failure/errors.ts'

/** A client library is an optional peer: only projects that use its adapter install it. */
export class ClientMissingError extends LazaretError {
  override readonly name = 'ClientMissingError'

  constructor(client: string, cause: unknown) {
    super(`${client}: cannot be loaded; install it beside lazaret: npm install ${client}`, {
      code: 'LAZARET_CLIENT_MISSING',
      retryable: false,
      cause,
    })
  }
}

/**
 * Loads a client library when it is first needed, so that importing an adapter's types and options needs no client.
 * `load` contains the `import()` of the package, so that bundlers and type checkers see its name.
 */
export async function loadClient<T>(client: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    throw new ClientMissingError(client, error)
  }
}

/** The same for code that cannot wait. `load` contains a `require()` made by `createRequire`, which loads ESM packages too. */
export function requireClient<T>(client: string, load: () => T): T {
  try {
    return load()
  } catch (error) {
    throw new ClientMissingError(client, error)
  }
}
