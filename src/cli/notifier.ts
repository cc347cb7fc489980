import type { Config } from '../config/config.ts'
import type { TargetConfig } from '../config/notify.ts'
import { ALERT_CHANNEL, type AlertNotifier, createNotifier } from '../integrations/notify/index.ts'
import type { Collector } from '../ports/collector.ts'
import type { DeadLetterQueue, DeadLetterStore } from '../ports/dead-letters.ts'
import type { Groups } from '../ports/groups.ts'
import type { Sink } from '../ports/sink.ts'
import type { Store } from '../ports/store.ts'
import { resendTarget } from '../replay/sink-replays.ts'
import type { Io } from './io.ts'

/** Creates the notifier of the config, if there is one. It does not connect yet. */
export async function openNotifier(
  { notify, masks }: Config,
  stores: Readonly<Record<string, Store>>,
  io: Pick<Io, 'clock' | 'random'>,
): Promise<AlertNotifier | undefined> {
  if (notify === undefined) return undefined
  const { targets, repeat, resolveAfter, ...options } = notify
  const given = Object.entries(targets)
  const all = Object.values(stores)
  return createNotifier({
    ...options,
    to: Object.fromEntries(
      await Promise.all(given.map(async ([name, target]) => [name, await openTarget(target)] as const)),
    ),
    route: Object.fromEntries(given.map(([name, { atLeast, kinds }]) => [name, { atLeast, kinds }])),
    repeatMs: repeat,
    resolveAfterMs: resolveAfter,
    deadLetters: withoutClose(all[0]!.deadLetters),
    groups: groupsOf(all),
    masks,
    clock: io.clock,
    random: io.random,
  })
}

/** Creates the sink of a target. Throws when the options of the target are invalid. */
export async function openTarget(target: TargetConfig): Promise<Sink> {
  const sinks = await import('../adapters/sinks/index.ts')
  switch (target.type) {
    case 'slack':
      return sinks.slack(optionsOf(target))
    case 'pagerduty':
      return sinks.pagerduty(optionsOf(target))
    case 'email':
      return sinks.email(optionsOf(target))
    case 'webhook':
      return sinks.webhook(optionsOf(target))
    case 'sentry':
      return sinks.sentry({ ...optionsOf(target), capture: ['warn', 'error', 'fatal'] })
  }
}

/** The options of the sink alone, without the type and the route of the target. */
function optionsOf<T extends TargetConfig>({ type: _, atLeast: __, kinds: ___, ...options }: T) {
  return options
}

/** Keeps the store open when the notifier closes. Marks the letters, so that a replay returns them to the notifier. */
function withoutClose(deadLetters: DeadLetterStore): DeadLetterQueue & Pick<DeadLetterStore, 'change'> {
  return {
    change: (id, change) => deadLetters.change(id, change),
    send: letter => deadLetters.send({ ...letter, origin: { ...letter.origin, broker: ALERT_CHANNEL } }),
    close: async () => {},
  }
}

/** A group counts as muted if it is muted in any store. */
function groupsOf(stores: readonly Store[]): Pick<Groups, 'get'> {
  return {
    async get(id) {
      const found = await Promise.all(
        // An unreachable store must not suppress the answers of the others.
        stores.map(({ groups }) => groups.get(id).catch(() => undefined)),
      )
      return found.find(group => group?.state === 'muted') ?? found.find(group => group !== undefined)
    },
  }
}

/** Replays alerts that could not be delivered: each goes to the target that refused it. */
export function alertCollector(notifier: AlertNotifier, deadLetters: DeadLetterStore): Collector {
  const target = resendTarget(
    {
      resend: letter => notifier.resend(letter),
      has: name => Object.hasOwn(notifier.health().targets, name),
    },
    deadLetters,
  )
  return {
    name: ALERT_CHANNEL,
    start() {},
    async stop() {},
    send: (events, origin) => target.send(events, origin),
    routeOf: letter => target.routeOf(letter),
    async depths() {
      return []
    },
    async close() {},
  }
}
