import { describe, expect, it } from 'vitest'
import { classify } from '../classify.ts'

const withCode = (code: string) => classify(Object.assign(new Error('x'), { code }))

const TRANSIENT =
  'ECONNREFUSED ECONNRESET ECONNABORTED ETIMEDOUT ESOCKETTIMEDOUT EPIPE ENOTCONN ESHUTDOWN EHOSTUNREACH EHOSTDOWN ' +
  'ENETUNREACH ENETDOWN ENETRESET EADDRNOTAVAIL ERR_NETWORK ERR_SOCKET_CLOSED ERR_SOCKET_CONNECTION_TIMEOUT ' +
  'ERR_STREAM_PREMATURE_CLOSE ERR_HTTP2_GOAWAY_SESSION ERR_HTTP2_SESSION_ERROR ERR_HTTP2_STREAM_ERROR ' +
  'ERR_HTTP2_STREAM_CANCEL ERR_HTTP2_PING_CANCEL ERR_HTTP_REQUEST_TIMEOUT EAI_AGAIN EAI_FAIL EAI_NODATA ENOTFOUND ' +
  'ETIMEOUT ESERVFAIL EREFUSED UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT UND_ERR_SOCKET ' +
  'UND_ERR_CLOSED UND_ERR_DESTROYED UND_ERR_ABORT UND_ERR_ABORTED UND_ERR_INFO UND_ERR_REQ_RETRY ' +
  'UND_ERR_BPL_MISSING_UPSTREAM UND_ERR_PRX_TLS ABORT_ERR ECANCELED ERR_CANCELED ENOSPC EDQUOT EMFILE ENFILE ENOMEM ' +
  'ENOBUFS EAGAIN EBUSY'

const BROKEN =
  'EPROTO CERT_HAS_EXPIRED CERT_NOT_YET_VALID DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN ' +
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID ' +
  'UND_ERR_HTTP_PARSER UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_HEADERS_OVERFLOW'

const BAD_REQUEST =
  'ERR_INVALID_URL ERR_INVALID_PROTOCOL UND_ERR_INVALID_ARG UND_ERR_REQ_CONTENT_LENGTH_MISMATCH ' +
  'UND_ERR_NOT_SUPPORTED UND_ERR_RES_EXCEEDED_MAX_SIZE'

describe('Node system codes', () => {
  it.each(TRANSIENT.split(' '))('E2: %s is transient and retryable', code => {
    expect(withCode(code)).toMatchObject({
      code,
      category: 'transient',
      retryable: true,
      decidedBy: 'system-code',
    })
  })

  it.each(BROKEN.split(' '))('K2: %s is an integration failure, tried again', code => {
    expect(withCode(code)).toMatchObject({
      category: 'integration',
      retryable: true,
      decidedBy: 'system-code',
    })
  })

  it.each(BAD_REQUEST.split(' '))('K2: %s is an integration failure, given up on', code => {
    expect(withCode(code)).toMatchObject({
      category: 'integration',
      retryable: false,
      decidedBy: 'system-code',
    })
  })

  it('F2/S3: a code is looked up as data, not as a property', () => {
    for (const code of ['__proto__', 'constructor', 'toString', 'ENOENT'])
      expect(withCode(code).decidedBy).toBe('unknown')
  })

  it('E2: a timeout or an abort is known by its name', () => {
    expect(classify(new DOMException('late', 'TimeoutError'))).toMatchObject({
      category: 'transient',
      retryable: true,
      decidedBy: 'timeout',
    })
    expect(classify(AbortSignal.abort().reason)).toMatchObject({ retryable: true, decidedBy: 'error-name' })
  })

  it.each([
    'MaxRetriesPerRequestError',
    'ClientClosedError',
    'ClientOfflineError',
    'ConnectionTimeoutError',
    'DisconnectsClientError',
    'RootNodesUnavailableError',
    'SocketClosedUnexpectedlyError',
    'IllegalOperationError',
  ])('E2: %s means a lost connection', name => {
    expect(classify(Object.assign(new Error('x'), { name }))).toMatchObject({
      category: 'transient',
      retryable: true,
      decidedBy: 'error-name',
    })
  })
})
