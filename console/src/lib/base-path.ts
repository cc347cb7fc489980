/** The path below which the server answers, without a final slash: the server writes it into the page. */
export const BASE_PATH =
  globalThis.document?.querySelector('meta[name="lazaret-base-path"]')?.getAttribute('content') ?? ''

/** The path of the screen in the address of the page. */
export function screenPath(): string {
  return location.pathname.slice(BASE_PATH.length) || '/'
}
