import { decodeCursor, encodeCursor, type Listing } from '../../adapter-kit/query/cursor.ts'

/** A place in a listing over several stores, which no text of one store can name. */
export function writeJsonCursor(listing: Listing, position: unknown): string {
  return encodeCursor(listing, Buffer.from(JSON.stringify(position)).toString('base64url'))
}

export function readJsonCursor<T>(
  listing: Listing,
  cursor: string,
  isPosition: (value: unknown) => value is T,
): T {
  return decodeCursor(listing, cursor, text => {
    try {
      const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
      return isPosition(value) ? value : undefined
    } catch {
      return undefined
    }
  })
}
