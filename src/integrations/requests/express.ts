import { asRequest } from '../../runtime/dispatcher/track/tracking-mode.ts'

/** `app.use(expressRequests())`, before everything that tracks. */
export function expressRequests(): (request: unknown, response: unknown, next: () => void) => void {
  return (_request, _response, next) => asRequest(next)
}
