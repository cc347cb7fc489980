// Reads replies of RESP2 and RESP3. The user's client decides between them, and maps differ.

export function textOf(reply: unknown): string {
  return typeof reply === 'string'
    ? reply
    : reply instanceof Uint8Array
      ? Buffer.from(reply).toString()
      : String(reply)
}

export function bytesOf(reply: unknown): Buffer {
  return Buffer.isBuffer(reply) ? reply : Buffer.from(textOf(reply))
}

export function optionalTextOf(reply: unknown): string | undefined {
  return reply === null || reply === undefined ? undefined : textOf(reply)
}

export function numberOf(reply: unknown): number {
  return Number(typeof reply === 'number' ? reply : textOf(reply))
}

/** Whether a script has answered 1, which is how Lua's scripts say yes. */
export function isOne(reply: unknown): boolean {
  return numberOf(reply) === 1
}

export function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : []
}

/** A map: a flat array in RESP2, an object or a Map in RESP3. */
export function pairsOf(reply: unknown): readonly (readonly [key: string, value: unknown])[] {
  if (reply instanceof Map) return [...reply].map(([key, value]) => [textOf(key), value] as const)
  if (!Array.isArray(reply)) return Object.entries((reply ?? {}) as Record<string, unknown>)
  const pairs: [string, unknown][] = []
  for (let at = 0; at + 1 < reply.length; at += 2) pairs.push([textOf(reply[at]), reply[at + 1]])
  return pairs
}

/** One field of the answer to INFO; undefined if the server does not report it. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}
