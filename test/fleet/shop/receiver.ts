import { type Receiver, startReceiver } from '../../receivers/receiver.ts'

/** The systems behind the shop: what a handler or a sink sends there has happened. */
export interface ShopReceiver extends Receiver {
  /** How often each event arrived, by the name of the system. */
  taken(name: string): ReadonlyMap<string, number>
}

/** Takes one event or a list of events at `/NAME`. */
export async function shopReceiver(): Promise<ShopReceiver> {
  const systems = new Map<string, Map<string, number>>()
  const taken = (name: string) => {
    const found = systems.get(name) ?? new Map<string, number>()
    systems.set(name, found)
    return found
  }
  const receiver = await startReceiver(({ url, body }) => {
    if (body.length === 0) return { status: 200 }
    const value: unknown = JSON.parse(body.toString('utf8'))
    const counts = taken(url.slice(1))
    for (const { id } of (Array.isArray(value) ? value : [value]) as { readonly id: string }[])
      counts.set(id, (counts.get(id) ?? 0) + 1)
    return { status: 200 }
  })
  return Object.assign(receiver, { taken })
}
