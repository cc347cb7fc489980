import { infoField, listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import { LETTERS } from './shared-lua.ts'

export interface RedisUsage {
  /** What letters and all that points to them take: measured on some of them, and reckoned for the rest. */
  readonly letterBytes: number
  /** What the server uses, for whatever. */
  readonly usedBytes: number
  /** What it may use; undefined: as much as the machine has. */
  readonly maxBytes: number | undefined
  /** What it does when that is used up. Anything but `noeviction` loses letters. */
  readonly evictionPolicy: string
}

/** Some of the newest and some of the oldest; of the large keys beside them Redis itself takes samples. */
export const measure: Script<RedisUsage> = script(
  'measuring dead letters',
  reply => {
    const [letterBytes, info] = listOf(reply)
    const said = (name: string) => infoField(textOf(info), name) ?? ''
    const max = numberOf(said('maxmemory'))
    return {
      letterBytes: Math.round(numberOf(letterBytes)),
      usedBytes: numberOf(said('used_memory')),
      maxBytes: max === 0 ? undefined : max,
      evictionPolicy: said('maxmemory_policy'),
    }
  },
  LETTERS,
  `
local all = root .. ':all'
local letters = redis.call('ZCARD', all)
local info = redis.call('INFO', 'memory')
if letters == 0 then return { '0', info } end
local bytes, measured, pointing = 0, 0, 0
for _, slice in ipairs({ redis.call('ZRANGE', all, 0, 24), redis.call('ZREVRANGE', all, 0, 24) }) do
  for _, id in ipairs(slice) do
    bytes = bytes + (redis.call('MEMORY', 'USAGE', keyOf(id), 'SAMPLES', 0) or 0)
    measured = measured + 1
  end
end
pointing = redis.call('MEMORY', 'USAGE', all) / letters
-- By channel, type, state, group and the beginning of it.
local total = letters * (bytes / measured + pointing * (2 + #INDEXED))
return { string.format('%.0f', total), info }
`,
)
