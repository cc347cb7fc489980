/** The header that says how severe an event is: `track` sets it, the limit at the door and sinks read it. */
export const SEVERITY_HEADER = 'severity'
