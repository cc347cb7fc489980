import { asRequest } from '../../runtime/dispatcher/track/tracking-mode.ts'

/** `app.use(honoRequests())`, before everything that tracks. */
export function honoRequests(): (context: unknown, next: () => Promise<void>) => Promise<void> {
  return (_context, next) => asRequest(next)
}
