import { again, type Classification, giveUp } from '../classification.ts'
import type { Thrown } from '../thrown.ts'

const NETWORK =
  'ECONNREFUSED ECONNRESET ECONNABORTED ETIMEDOUT ESOCKETTIMEDOUT EPIPE ENOTCONN ESHUTDOWN EHOSTUNREACH EHOSTDOWN ' +
  'ENETUNREACH ENETDOWN ENETRESET EADDRNOTAVAIL ERR_NETWORK ERR_SOCKET_CLOSED ERR_SOCKET_CONNECTION_TIMEOUT ' +
  'ERR_STREAM_PREMATURE_CLOSE ERR_HTTP2_GOAWAY_SESSION ERR_HTTP2_SESSION_ERROR ERR_HTTP2_STREAM_ERROR ' +
  'ERR_HTTP2_STREAM_CANCEL ERR_HTTP2_PING_CANCEL ERR_HTTP_REQUEST_TIMEOUT'

/** ENOTFOUND is here because a failing resolver reports it for names that exist. */
const NAME_LOOKUP = 'EAI_AGAIN EAI_FAIL EAI_NODATA ENOTFOUND ETIMEOUT ESERVFAIL EREFUSED'

const UNDICI =
  'UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT UND_ERR_SOCKET UND_ERR_CLOSED ' +
  'UND_ERR_DESTROYED UND_ERR_ABORT UND_ERR_ABORTED UND_ERR_INFO UND_ERR_REQ_RETRY UND_ERR_BPL_MISSING_UPSTREAM ' +
  'UND_ERR_PRX_TLS'

const ABORTED = 'ABORT_ERR ECANCELED ERR_CANCELED'

/** The machine or its disk lacks a resource that may become free. */
const EXHAUSTED = 'ENOSPC EDQUOT EMFILE ENFILE ENOMEM ENOBUFS EAGAIN EBUSY'

/**
 * The dependency answers, but violates the protocol. It does so for every event, so a retry is allowed and the breaker
 * opens.
 */
const PROTOCOL_ERRORS =
  'EPROTO CERT_HAS_EXPIRED CERT_NOT_YET_VALID DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN ' +
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID ' +
  'UND_ERR_HTTP_PARSER UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_HEADERS_OVERFLOW'

/** The request itself is wrong, and a retry would be wrong too. */
const BAD_REQUEST =
  'ERR_INVALID_URL ERR_INVALID_PROTOCOL UND_ERR_INVALID_ARG UND_ERR_REQ_CONTENT_LENGTH_MISMATCH ' +
  'UND_ERR_NOT_SUPPORTED UND_ERR_RES_EXCEEDED_MAX_SIZE'

const CLASSIFICATIONS: ReadonlyMap<string, Classification> = new Map([
  ...entries([NETWORK, NAME_LOOKUP, UNDICI, ABORTED, EXHAUSTED], again('system-code', 'transient')),
  ...entries([PROTOCOL_ERRORS], again('system-code', 'integration')),
  ...entries([BAD_REQUEST], giveUp('system-code', 'integration')),
])

/** Codes of Node and of its HTTP client. */
export function systemCode({ code }: Thrown): Classification | undefined {
  return code === undefined ? undefined : CLASSIFICATIONS.get(code)
}

function entries(lists: readonly string[], classification: Classification): [string, Classification][] {
  return lists.flatMap(codes =>
    codes.split(' ').map((code): [string, Classification] => [code, classification]),
  )
}
