import type { Door } from '../../../adapter-kit/door.ts'
import type { IdSource } from '../../../core/event/uuid.ts'
import { hash128 } from '../../../core/hash.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Claim, Ledger } from '../../../ports/ledger.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { run, type Script, script } from '../connection/script.ts'
import { keysOf } from '../keys.ts'

/**
 * A pair is one key: `L`, when its lease ends, and whose it is; or `D`, when it was done, and by which call. Being alone, it may
 * expire by itself: so long after the end of its lease, or after it was done, as the ledger remembers.
 */
const PAIR = `
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kind, at, whose = string.match(redis.call('GET', key) or '', '^(%u)(%d+):(.*)$')
local function keep(letter, when, who, ms)
  redis.call('SET', key, letter .. string.format('%.0f', when) .. ':' .. who, 'PX', string.format('%.0f', math.max(1, ms)))
  return 1
end
`

/** The same token claims again what it has: its first answer may have been lost. */
const claim: Script<readonly [kind: string, at: number]> = script(
  'claiming an event',
  reply => {
    const [kind, at] = listOf(reply)
    return [textOf(kind), numberOf(at)]
  },
  PAIR,
  `
local token, lease, retention = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if kind == 'D' then return { 'done', at } end
if kind == 'L' and tonumber(at) > now and whose ~= token then return { 'busy', at } end
keep('L', now + lease, token, lease + retention)
return { 'claimed', '0' }
`,
)

const renew = ofHolder('renewing a claim', `return keep('L', now + ARGV[2], token, ARGV[2] + ARGV[3])`)
const release = ofHolder('releasing a claim', `return redis.call('DEL', key)`)
/** The call that has completed it may ask again: its first answer may have been lost. */
const complete: Script<boolean> = script(
  'completing a claim',
  isOne,
  PAIR,
  `
if kind == 'D' and whose == ARGV[3] then return 1 end
if kind ~= 'L' or whose ~= ARGV[1] then return 0 end
return keep('D', now, ARGV[3], ARGV[2])
`,
)
const forget: Script<boolean> = script(
  'forgetting an event',
  isOne,
  PAIR,
  `return kind == 'D' and redis.call('DEL', key) or 0`,
)

function ofHolder(name: string, then: string): Script<boolean> {
  const held = `local token = ARGV[1]\nif kind ~= 'L' or whose ~= token then return 0 end`
  return script(name, isOne, PAIR, held, then)
}

function isOne(reply: unknown): boolean {
  return numberOf(reply) === 1
}

/** Slots that pairs are spread over, so that every node of a cluster has some. */
const SHARD_DIGITS = 2

interface LedgerSettings {
  readonly connection: RedisConnection
  readonly prefix: string
  readonly clock: Clock
  readonly newId: IdSource
  readonly retentionMs: number
  readonly door: Door
  /** Closes what only this ledger uses. */
  readonly leave: () => Promise<void>
}

/**
 * Which events were handled. Leases run by the server's time, so that no two machines have to agree. A lease that has run out
 * belongs to its token until someone else claims the pair: a handler that was slow, but alone, may still complete.
 */
export class RedisLedger implements Ledger {
  readonly #settings: LedgerSettings
  #closing: Promise<void> | undefined

  constructor(settings: LedgerSettings) {
    this.#settings = settings
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    const { newId, clock, retentionMs } = this.#settings
    const token = newId(clock.now())
    const args = [token, String(leaseMs), String(retentionMs)]
    const [kind, at] = await this.#run(claim, handler, key, args)
    if (kind === 'done') return { kind, at }
    return kind === 'busy' ? { kind, until: at } : { kind: 'claimed', token }
  }

  renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#run(renew, handler, key, [token, String(leaseMs), String(this.#settings.retentionMs)])
  }

  complete(handler: string, key: string, token: string): Promise<boolean> {
    const { newId, clock, retentionMs } = this.#settings
    return this.#run(complete, handler, key, [token, String(retentionMs), newId(clock.now())])
  }

  release(handler: string, key: string, token: string): Promise<boolean> {
    return this.#run(release, handler, key, [token])
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#run(forget, handler, key, [])
  }

  close(): Promise<void> {
    this.#settings.door.close()
    this.#closing ??= this.#settings.leave()
    return this.#closing
  }

  async #run<T>(script: Script<T>, handler: string, key: string, args: readonly string[]): Promise<T> {
    const { connection, prefix, door } = this.#settings
    door.requireOpen()
    // JSON keeps the two apart whatever they contain.
    const pair = JSON.stringify([handler, key])
    const keys = keysOf(prefix, 'ledger', hash128(pair).slice(0, SHARD_DIGITS))
    return run(connection, script, [keys.of(pair)], args, { again: true })
  }
}
