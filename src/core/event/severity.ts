/** The header with the severity of an event. `track` sets it; the rate limit and sinks read it. */
export const SEVERITY_HEADER = 'severity'
