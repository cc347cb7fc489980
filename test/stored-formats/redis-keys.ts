import { createClient, RESP_TYPES } from 'redis'

/** Keys of a server as the commands that write them, one on a line, with a character for each byte. */
export async function dumpKeys(url: string): Promise<string> {
  return await withServer(url, async send => {
    const keys = textsOf(await send('KEYS', '*')).sort()
    const commands: string[][] = []
    for (const key of keys) {
      commands.push(...(await commandsOf(key, send)))
      const expiresAt = Number(await send('PEXPIRETIME', key))
      if (expiresAt > 0) commands.push(['PEXPIREAT', key, String(expiresAt)])
    }
    return commands.map(command => `${JSON.stringify(command)}\n`).join('')
  })
}

/** Writes the keys of a dump to a server. */
export async function restoreKeys(url: string, dump: string): Promise<void> {
  await withServer(url, async send => {
    for (const line of dump.split('\n')) if (line !== '') await send(...(JSON.parse(line) as string[]))
  })
}

type Send = (...command: readonly string[]) => Promise<unknown>

async function withServer<T>(url: string, run: (send: Send) => Promise<T>): Promise<T> {
  const client = createClient({ url, RESP: 2 })
  await client.connect()
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
  try {
    return await run((...command) => bytes.sendCommand(command.map(word => Buffer.from(word, 'latin1'))))
  } finally {
    client.destroy()
  }
}

async function commandsOf(key: string, send: Send): Promise<string[][]> {
  const type = String(await send('TYPE', key))
  if (type === 'string') return [['SET', key, textOf(await send('GET', key))]]
  if (type === 'hash') return [['HSET', key, ...textsOf(await send('HGETALL', key))]]
  if (type === 'set') return [['SADD', key, ...textsOf(await send('SMEMBERS', key)).sort()]]
  if (type === 'list') return [['RPUSH', key, ...textsOf(await send('LRANGE', key, '0', '-1'))]]
  if (type === 'zset') {
    const found = textsOf(await send('ZRANGE', key, '0', '-1', 'WITHSCORES'))
    return [['ZADD', key, ...found.map((_, at) => found[at ^ 1]!)]]
  }
  if (type === 'stream') return streamCommands(key, send)
  throw new Error(`${key}: a ${type} cannot be dumped; add it here`)
}

/** Entries and groups. Nothing is pending in a store whose consumers have closed. */
async function streamCommands(key: string, send: Send): Promise<string[][]> {
  const entries = (await send('XRANGE', key, '-', '+')) as [Buffer, Buffer[]][]
  const groups = (await send('XINFO', 'GROUPS', key)) as unknown[][]
  return [
    ...entries.map(([id, fields]) => ['XADD', key, textOf(id), ...textsOf(fields)]),
    ...groups.map(fields => {
      const of = (name: string) => textOf(fields[fields.findIndex(field => textOf(field) === name) + 1])
      if (of('pending') !== '0') throw new Error(`${key}: ${of('pending')} entries are pending`)
      return ['XGROUP', 'CREATE', key, of('name'), of('last-delivered-id'), 'MKSTREAM']
    }),
  ]
}

function textsOf(values: unknown): string[] {
  return (values as unknown[]).map(textOf)
}

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('latin1') : String(value)
}
