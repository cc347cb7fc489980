import { JournalTable } from '../journal/journal-table.ts'
import { LedgerTable } from '../ledger/ledger-table.ts'
import { Annals } from '../operating/audit-table.ts'
import { ReplayTables } from '../operating/replay-tables.ts'
import { SnapshotTable } from '../operating/snapshot-table.ts'
import type { WriteCalls } from './calls.ts'
import type { Tables } from './tables.ts'

/** What can be asked of the writing thread. Each runs inside a transaction and changes nothing when it says no. */
export function writeCalls(tables: Tables): WriteCalls {
  const { db, letters, broker, owners } = tables
  const ledger = new LedgerTable(db)
  const replays = new ReplayTables(db)
  const annals = new Annals(db)
  const journal = new JournalTable(db)
  const snapshots = new SnapshotTable(db)
  const own = new Map<number, number>()
  return {
    sendLetter(row, revision, capacity) {
      const answer = letters.send(row, revision, capacity)
      if (answer === undefined && revision !== null && isClosed(row[1])) broker.letGoOfLetter(row[0], false)
      return answer
    },
    deleteLetter(id, seen) {
      if (!letters.delete(id, seen)) return false
      broker.letGoOfLetter(id, true)
      return true
    },
    changeGroup: (id, change) => annals.changeGroup(id, change),

    publish: (events, capacity) => broker.publish(events, capacity),
    register(leaseMs) {
      const owner = owners.register(leaseMs, tables.now)
      own.set(owner, leaseMs)
      return owner
    },
    beat(owner) {
      const leaseMs = own.get(owner)
      if (leaseMs === undefined) return undefined
      let current = owner
      if (!owners.beat(owner, tables.now)) {
        current = owners.register(leaseMs, tables.now)
        broker.desks.changeOwner(owner, current)
        own.delete(owner)
        own.set(current, leaseMs)
      }
      for (const dead of owners.findDead(new Set(own.keys()), tables.now, leaseMs / 3)) {
        broker.giveBackAllOf(dead)
        owners.remove(dead)
      }
      return current
    },
    resign(owner) {
      broker.giveBackAllOf(owner)
      owners.remove(owner)
      own.delete(owner)
    },
    subscribe: (...args) => broker.subscribe(...args),
    unsubscribe: subscription => broker.desks.close(subscription),
    setFlow: (subscription, isOn) => broker.desks.setFlow(subscription, isOn),
    poll() {
      const { othersWrote } = tables
      tables.othersWrote = false
      return othersWrote
    },
    begin: (...args) => broker.begin(...args),
    done: at => broker.done(at),
    retry: (at, notBefore, ended, history) =>
      broker.putBack(at, notBefore - tables.now, tables.steadyNow, row => ({
        ended: row.ended + ended,
        history: history ?? row.history,
      })),
    release: (at, notBefore, takenBack) =>
      broker.putBack(at, notBefore - tables.now, tables.steadyNow, row => ({
        started: row.started - takenBack,
      })),
    dead(at, letterId, row, revision) {
      if (!broker.isOpen(at)) return false
      // Letters are never refused for want of room: publishing stops first.
      const answer = row === null ? undefined : letters.send(row, revision, Number.MAX_SAFE_INTEGER)
      if (answer !== undefined) return answer
      broker.dead(at, letterId, row !== null)
      return true
    },
    giveBack(deliveries) {
      for (const at of deliveries) broker.giveBack(at)
    },
    letGo: (...args) => broker.letGo(...args),

    claim: (...args) => ledger.claim(...args, tables.now),
    renew: (handler, key, token, leaseMs) => ledger.renew(handler, key, token, leaseMs, tables.now),
    complete: (...args) => ledger.complete(...args, tables.now),
    releaseClaim: (...args) => ledger.release(...args),
    forget: (...args) => ledger.forget(...args),

    addItems: (...args) => replays.addItems(...args),
    createReplay: (...args) => replays.create(...args),
    updateReplay: (...args) => replays.update(...args),
    recordItems: (...args) => replays.record(...args),
    leaseReplay: (id, owner, leaseMs) => replays.lease(id, owner, leaseMs, tables.now),
    letReplayGo: (...args) => replays.letGo(...args),

    appendAudit: entry => annals.append(entry),

    putSnapshots: rows => snapshots.put(rows),
    purgeSnapshots: (...args) => snapshots.purge(...args),

    appendJournal: (...args) => journal.append(...args),
    removeJournal: id => journal.remove(id),
  }
}

/** Whether a letter of this facet has been dealt with. */
function isClosed(facet: string): boolean {
  const state = (JSON.parse(facet) as string[])[5]
  return state === 'discarded' || state === 'resolved'
}
