/** What is looked at of the client's channel; a client that does not show it is believed. */
interface Shown {
  readonly ch?: unknown
  readonly connection?: {
    readonly channels?: Readonly<Record<number, { readonly channel?: unknown } | null>>
  }
}

/**
 * The client reads all that has come before whoever asked for a channel can listen to it. One that was closed in the same breath
 * would be taken for open for ever, since nobody will tell of its end a second time.
 */
export function requireOpen(channel: unknown): void {
  const { ch, connection } = channel as Shown
  if (typeof ch !== 'number' || connection?.channels === undefined) return
  if (connection.channels[ch]?.channel !== channel) throw new Error('the channel closed as it was opened')
}
