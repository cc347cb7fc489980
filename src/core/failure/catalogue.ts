/**
 * Every error code of Lazaret. docs/reference/errors.md has one heading for each code, and a test compares the two. A
 * code keeps its meaning forever. It may be retired, but not removed or reused.
 */
export const ERROR_CODES = {
  LAZARET_OPTIONS_INVALID: 'Options are not valid; the error lists every fault.',
  LAZARET_CONFIG_INVALID: 'A config file is not valid; the error lists every fault with its line.',
  LAZARET_EVENT_INVALID: 'An event exceeds a limit on size or shape.',
  LAZARET_CLOUDEVENT_INVALID: 'A CloudEvent cannot be read as an event.',
  LAZARET_PERMANENT: 'The code that threw it says that retrying cannot succeed.',
  LAZARET_TRANSIENT: 'The code that threw it says that a retry may succeed.',
  LAZARET_RETRY_AFTER: 'The code that threw it says when a retry may succeed.',
  LAZARET_TIMEOUT: 'An attempt did not finish before its timeout.',
  LAZARET_BREAKER_OPEN: 'A circuit breaker refused the attempt.',
  LAZARET_RATE_LIMITED: 'A rate limit refused the call.',
  LAZARET_CLOSED: 'A consumer or dispatcher is closed and accepts no more work.',
  LAZARET_TRACKING_FAILED: 'No sink accepted a tracked event, or a dead letter of it could not be saved.',
  LAZARET_SINK_REFUSED: 'The receiver of a sink refused the request.',
  LAZARET_SINK_UNREACHABLE:
    'The receiver of a sink is unreachable, or closed the connection without an answer.',
  LAZARET_SINK_ANSWER_INVALID: 'A sink returned a value that does not say which events it rejected.',
  LAZARET_LETTER_INVALID: 'A stored dead letter cannot be read, or two letters cannot be merged.',
  LAZARET_LETTER_NOT_SAVED: 'Neither the store nor the spill saved a dead letter.',
  LAZARET_TRANSITION_ILLEGAL: 'A dead letter cannot change from its state to the requested state.',
  LAZARET_DEAD_LETTERS_CLOSED: 'A dead-letter queue was used after it was closed.',
  LAZARET_DEAD_LETTERS_FULL: 'A dead-letter queue has no room for another letter.',
  LAZARET_STORE_FAILED: 'The file system or server of a store failed an operation.',
  LAZARET_STORE_LOCKED: 'Another process holds the lock of a store and does not release it.',
  LAZARET_STORE_DAMAGED: 'The file of a store is damaged.',
  LAZARET_STORE_FOREIGN: 'The file is not a Lazaret store.',
  LAZARET_STORE_NEWER: 'A newer version of Lazaret wrote the store.',
  LAZARET_STORE_OUTDATED: 'The schema of a store is missing, or too old for this version of Lazaret.',
  LAZARET_NO_RECIPIENT: 'No living process of the fleet can execute a command.',
  LAZARET_STORE_CLOSED: 'A part of a store was used after it was closed.',
  LAZARET_JOURNAL_FULL: 'A journal has no room for another event.',
  LAZARET_JOURNAL_UNREADABLE: 'An entry of a journal cannot be read.',
  LAZARET_BROKER_CLOSED: 'A broker was used after it was closed.',
  LAZARET_BROKER_FULL: 'A broker has no room for another event.',
  LAZARET_BROKER_UNREACHABLE: 'A broker is unreachable, or did not respond in time.',
  LAZARET_BROKER_REFUSED: 'A broker rejected the login.',
  LAZARET_BROKER_UNROUTABLE: 'A broker has no queue for an event, so the event was not published.',
  LAZARET_COLLECTING_HELD_UP: 'Dead letters of another system cannot be collected now.',
  LAZARET_TOPOLOGY_MISMATCH: 'A queue or exchange on the server differs from its declaration.',
  LAZARET_CLIENT_MISSING: 'The client library of a broker or store is not installed.',
  LAZARET_DELIVERY_LOST: 'A delivery is no longer open; the broker delivers its event again.',
  LAZARET_SEAL_UNOPENED: 'A sealed event cannot be decrypted with the given keys.',
  LAZARET_PATCH_INVALID: 'A JSON Patch is not valid, or does not fit the payload.',
  LAZARET_LISTEN_REFUSED: 'The server cannot listen on the given address.',
  LAZARET_REPLAY_REFUSED: 'A replay does not allow the requested change in its current state.',
  LAZARET_REPLAY_EMPTY: 'A plan has no letter that can be sent, so it was not stored.',
} as const

/** The code of an error of Lazaret. The meaning of a code never changes. */
export type ErrorCode = keyof typeof ERROR_CODES
