/**
 * How a letter can be sent again from here.
 *
 * - `durable`: whoever takes the event keeps it, so a runner that ends leaves nothing to do again.
 * - `in-process`: this process alone has the event until its outcome is known. A runner in another process sends it again.
 * - `none`: nothing here can send it; `why` says what would.
 */
export type WayBack =
  | { readonly kind: 'durable' | 'in-process'; readonly via: string }
  | { readonly kind: 'none'; readonly why: string }
