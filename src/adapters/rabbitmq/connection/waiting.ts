/** How long a shutdown waits for any one word of the server. */
export const CLOSE_MS = 5_000
