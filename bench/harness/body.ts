const BODY_BYTES = 256

/** The payload of a message, as JSON. */
export const BODY = Buffer.from(
  JSON.stringify({
    order: 4_711,
    note: 'x'.repeat(BODY_BYTES - JSON.stringify({ order: 4_711, note: '' }).length),
  }),
)
