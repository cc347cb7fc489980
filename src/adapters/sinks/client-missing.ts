import { LazaretError } from '../../core/failure/errors.ts'

/** Clients are optional peers: only who uses the sink installs one. */
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
