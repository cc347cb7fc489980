import type { ChannelNotice, Notice } from '../../src/ports/notifier.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ServerOptions } from '../../src/server/index.ts'
import { serverWorld } from './server-world.ts'

export const MINUTE_MS = 60_000

/** A server with alerts, and the receivers of its notifications. */
export function watchingWorld(options: Partial<ServerOptions> = {}) {
  const notices: ChannelNotice[] = []
  const notifier = { notify: async (notice: Notice) => void notices.push(notice as ChannelNotice) }
  const world = serverWorld({ watch: {}, notifier, ...options })
  const told = () => notices.map(({ channel, rule, firing, value }) => [channel, rule, firing, value])
  return { ...world, notices, notifier, told, minute: (count = 1) => world.clock.advance(count * MINUTE_MS) }
}

export async function saveManyLetters(
  world: ReturnType<typeof watchingWorld>,
  count: number,
  channel = 'orders',
) {
  const letters = Array.from({ length: count }, () => world.make.letter({ channel }))
  for (const letter of letters) await world.store.deadLetters.send(letter)
  return letters
}

export async function discard(store: Store, ids: readonly { readonly id: string }[]) {
  for (const { id } of ids) await store.deadLetters.change(id, { to: 'discarded', at: 1 })
}

export const watchOf = async ({ ask }: Pick<ReturnType<typeof watchingWorld>, 'ask'>, channel = 'orders') => {
  const { body } = await ask('/api/v1/channels')
  return body.channels.find((each: { channel: string }) => each.channel === channel)?.watch
}
