import { createIdSource } from '../../../core/event/uuid.ts'
import { hash128 } from '../../../core/hash.ts'
import type { Claim, Ledger } from '../../../ports/ledger.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { isOne, listOf, numberOf, textOf } from '../connection/replies.ts'
import { run, type Script, SERVER_TIME, script } from '../connection/script.ts'
import { keysOf } from '../keys.ts'
import type { RedisSettings } from '../options.ts'

/**
 * A pair is one key: `L` with the end of its lease and its token, or `D` with the time when it was done and the call that
 * did it. Each key expires by itself, after the retention of the ledger.
 */
const PAIR = `
${SERVER_TIME}
local key = KEYS[1]
local now = server_time()
local kind, at, whose = string.match(redis.call('GET', key) or '', '^(%u)(%d+):(.*)$')
local function keep(letter, when, who, ms)
  redis.call('SET', key, letter .. string.format('%.0f', when) .. ':' .. who, 'PX', string.format('%.0f', math.max(1, ms)))
  return 1
end
`

/** The same token may claim a pair again, because its first answer may have been lost. */
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

/** Slots that pairs are spread over, so that every node of a cluster has some. */
const SHARD_DIGITS = 2

/**
 * The handled events. Leases use the time of the server, so that machines need not agree. An expired lease belongs to its
 * token until another process claims the pair, so that a slow handler without a competitor can still complete.
 */
export class RedisLedger implements Ledger {
  readonly #connection: RedisConnection
  readonly #settings: RedisSettings
  readonly #onClose: (() => Promise<void>) | undefined
  readonly #newId: () => string
  #closing: Promise<void> | undefined

  /** `onClose` closes what only this ledger uses. */
  constructor(connection: RedisConnection, settings: RedisSettings, onClose?: () => Promise<void>) {
    const newId = createIdSource(settings.random)
    this.#connection = connection
    this.#settings = settings
    this.#onClose = onClose
    this.#newId = () => newId(settings.clock.now())
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    const token = this.#newId()
    const [kind, at] = await this.#run(claim, handler, key, [token, String(leaseMs), this.#retention])
    if (kind === 'done') return { kind, at }
    return kind === 'busy' ? { kind, until: at } : { kind: 'claimed', token }
  }

  renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#run(renew, handler, key, [token, String(leaseMs), this.#retention])
  }

  complete(handler: string, key: string, token: string): Promise<boolean> {
    return this.#run(complete, handler, key, [token, this.#retention, this.#newId()])
  }

  release(handler: string, key: string, token: string): Promise<boolean> {
    return this.#run(release, handler, key, [token])
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#run(forget, handler, key, [])
  }

  close(): Promise<void> {
    this.#closing ??= this.#onClose?.() ?? Promise.resolve()
    return this.#closing
  }

  get #retention(): string {
    return String(this.#settings.ledgerRetentionMs)
  }

  async #run<T>(script: Script<T>, handler: string, key: string, args: readonly string[]): Promise<T> {
    const { prefix, name } = this.#settings
    if (this.#closing !== undefined) throw new StoreClosedError(name)
    // JSON keeps the two apart whatever they contain.
    const pair = JSON.stringify([handler, key])
    const keys = keysOf(prefix, 'ledger', hash128(pair).slice(0, SHARD_DIGITS))
    return run(this.#connection, script, [keys.of(pair)], args, { idempotent: true })
  }
}
