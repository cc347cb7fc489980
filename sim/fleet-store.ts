import type { Commands } from '../src/ports/commands.ts'
import type { DeadLetterStore } from '../src/ports/dead-letters.ts'
import type { Fleet } from '../src/ports/fleet.ts'
import type { Replays } from '../src/ports/replays.ts'
import type { Store } from '../src/ports/store.ts'
import type { FleetServerSide, FleetStoreParts } from './fleet-server-side.ts'
import { recordStateChange } from './history.ts'
import { nameOf } from './names.ts'
import type { Process } from './process.ts'

/** The connection of a process or a server to the shared store. Each call can get a fault, and its effect is recorded. */
export function fleetStoreClient(process: Process, port: 'fleet' | 'server'): Store & FleetStoreParts {
  const side = process.world.fleet!
  const call = async <T>(name: string, effect: () => Promise<T>): Promise<T> =>
    process.callPort(port, name, effect)
  return {
    url: 'memory:',
    deadLetters: lettersClient(process, call),
    fleet: fleetClient(process, side, call),
    commands: commandsClient(process, side, call),
    replays: replaysClient(process, side, call),
    audit: {
      append: entry => call('append', () => side.audit.append(entry)),
      list: query => call('audit', () => side.audit.list(query)),
    },
    close: async () => {},
  } as Partial<Store> as Store & FleetStoreParts
}

type Call = <T>(name: string, effect: () => Promise<T>) => Promise<T>

/** A change through this client is the decision of a person: a command, or a replay. */
function lettersClient({ world }: Process, call: Call): Partial<DeadLetterStore> {
  const { store, history } = world
  return {
    list: query => call('list', () => store.list(query)),
    get: id => call('get', () => store.get(id)),
    change: (id, change) =>
      call('change', async () => {
        // Both calls read the store in the same tick, so nothing happens between them.
        const [before, after] = await Promise.all([store.get(id), store.change(id, change)])
        if (before !== undefined && after !== undefined) recordStateChange(history, 'operator', before, after)
        return after
      }),
  }
}

function fleetClient({ world, name }: Process, { fleet, processes }: FleetServerSide, call: Call): Fleet {
  return {
    report: (report, leaseMs) =>
      call('report', async () => {
        processes.set(report.id, name)
        await fleet.report(report, leaseMs)
        world.history.record({ what: 'presence', by: name, leaseMs })
      }),
    leave: id => call('leave', () => fleet.leave(id)),
    list: () => call('instances', () => fleet.list()),
    purge: before => call('purge', () => fleet.purge(before)),
  }
}

function commandsClient(process: Process, side: FleetServerSide, call: Call): Commands {
  const { world, name } = process
  const { commands } = side
  const { history } = world
  return {
    send: (sent, ttlMs) =>
      call('send', async () => {
        await commands.send(sent, ttlMs)
        for (const { id, task, recipients, by } of sent) {
          const to = recipients.map(each => side.processName(each))
          history.record({ what: 'commandSent', command: side.commandName(id), task: task.kind, to, by })
        }
      }),
    claim: (instance, limit) =>
      call('claim', async () => {
        const claimed = await commands.claim(instance, limit)
        for (const { id, task } of claimed)
          history.record({ what: 'commandClaimed', command: side.commandName(id), by: name, task })
        return claimed
      }),
    finish: (id, instance, outcome) =>
      call('finish', async () => {
        const took = await commands.finish(id, instance, outcome)
        history.record({ what: 'commandEnded', command: side.commandName(id), by: name, took, ...outcome })
        return took
      }),
    get: request => call('request', () => commands.get(request)),
    list: limit => call('commands', () => commands.list(limit)),
    purge: before => call('purge', () => commands.purge(before)),
    ...(world.plan.fleet?.announces === true && {
      onCommand: (instance, listener) => announce(process, commands, instance, listener),
    }),
  }
}

/** The store announces a command a little later, and only to a process that is alive. */
function announce(process: Process, commands: Commands, instance: string, listener: () => void): () => void {
  const { clock, faults } = process.world
  let isOver = false
  const end = commands.onCommand!(instance, () => {
    clock.schedule(faults.delayMs(20), () => {
      if (!isOver && process.isAlive) process.runInside(listener)
    })
  })
  process.atEnd(end)
  return () => {
    isOver = true
    end()
  }
}

function replaysClient({ world, name }: Process, side: FleetServerSide, call: Call): Replays {
  const { replays } = side
  const { history, store } = world
  return {
    create: (replay, items) =>
      call('create', async () => {
        const all = [...items]
        await replays.create(replay, all)
        const planned = all.filter(({ status }) => status === 'waiting').map(({ letterId }) => letterId)
        history.record({ what: 'replayPlanned', replay: replay.id, by: replay.createdBy, letters: planned })
      }),
    get: id => call('replay', () => replays.get(id)),
    list: options => call('replays', () => replays.list(options)),
    update: replay =>
      call('update', async () => {
        const updated = await replays.update(replay)
        if (updated !== undefined) {
          const { id, state, stage } = updated
          history.record({ what: 'replayChanged', replay: id, state, stage, by: name })
        }
        return updated
      }),
    items: (id, query) => call('items', () => replays.items(id, query)),
    record: (id, items, onlyIf = {}) =>
      call('record', async () => {
        const letters = await Promise.all(items.map(({ letterId }) => store.get(letterId)))
        const before = await replays.items(id)
        await replays.record(id, items, onlyIf)
        for (const [index, item] of items.entries()) {
          const old = before[item.position]
          if (onlyIf.delivery !== undefined && old?.delivery !== onlyIf.delivery) continue
          if (onlyIf.status !== undefined && old?.status !== onlyIf.status) continue
          const { position, letterId, status, handedOn, delivery, heldBy } = item
          const letter = letters[index]
          const event = letter === undefined ? letterId : nameOf(letter.event)
          const holder = heldBy === undefined ? undefined : side.processName(heldBy)
          const about = { replay: id, position, event, handler: letter?.handler ?? '' }
          history.record({ what: 'item', ...about, by: name, status, handedOn, delivery, holder })
        }
      }),
    counts: id => call('counts', () => replays.counts(id)),
    lease: (id, owner, leaseMs) => call('lease', () => replays.lease(id, owner, leaseMs)),
    releaseLease: (id, owner) => call('releaseLease', () => replays.releaseLease(id, owner)),
  }
}
