/** The header with the correlation id of an event. Every broker, store and sink carries headers, so they carry it too. */
export const CORRELATION_HEADER = 'correlation-id'
