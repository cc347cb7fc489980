/** The header that says how severe an event is: `track` sets it, the entry limit and sinks read it. */
export const SEVERITY_HEADER = 'severity'
