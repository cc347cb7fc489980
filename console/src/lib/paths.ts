/** A path of these parts, whatever characters they have. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map(part => `/${encodeURIComponent(part)}`).join('')
}

export const groupPath = (id: string) => pathOf('groups', id)
export const letterPath = (id: string) => pathOf('letters', id)
/** The comparison of two letters. */
export const comparePath = (first: string, second: string) =>
  `/letters/compare?${new URLSearchParams({ first, second })}`
export const replayPath = (id: string) => pathOf('replays', id)
