import { decodeCursor, encodeCursor, type Listing } from '../../adapter-kit/query/cursor.ts'

/** A position in a listing over several stores. The cursor of one store cannot express it. */
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
