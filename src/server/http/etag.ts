import { createHash } from 'node:crypto'

/** JSON with a mark of what it says: a reader that has the same already is told so, in no bytes. */
export function jsonWithTag(
  request: Request,
  text: string,
  headers: Readonly<Record<string, string>>,
): Response {
  const tag = `W/"${createHash('sha1').update(text).digest('base64url')}"`
  const known = (request.headers.get('if-none-match') ?? '').split(',').map(each => each.trim())
  // It may be kept, but is asked about again every time.
  const kept = { ...headers, etag: tag, 'cache-control': 'private, no-cache' }
  if (known.includes(tag)) return new Response(null, { status: 304, headers: kept })
  return new Response(text, { headers: { ...kept, 'content-type': 'application/json' } })
}
