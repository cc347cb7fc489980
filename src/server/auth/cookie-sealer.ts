import { hkdfSync } from 'node:crypto'
import { decrypt, encrypt } from '../../runtime/sealing/aes-gcm.ts'

const KEY_BYTES = 32
/** A browser stores no longer ones. */
const MAX_TEXT = 4_096

/**
 * Seals the content of cookies, so that only servers with the same secret and the same public URL can read and write them.
 * A cookie of one purpose does not pass for one of another.
 */
export class CookieSealer {
  readonly #keys: readonly Buffer[]
  readonly #publicUrl: string

  /** The first secret seals; every secret opens. */
  constructor(secrets: readonly string[], publicUrl: string) {
    this.#keys = secrets.map(secret =>
      Buffer.from(hkdfSync('sha256', secret, '', 'lazaret cookies 1', KEY_BYTES)),
    )
    this.#publicUrl = publicUrl
  }

  seal(purpose: string, content: object): string {
    return encrypt(this.#keys[0]!, JSON.stringify(content), this.#boundTo(purpose)).toString('base64url')
  }

  /** Undefined if it was not sealed here for this purpose, whatever it is. */
  open(purpose: string, text: string): unknown {
    if (text.length > MAX_TEXT) return undefined
    const data = Buffer.from(text, 'base64url')
    for (const key of this.#keys) {
      try {
        return JSON.parse(decrypt(key, data, this.#boundTo(purpose)))
      } catch {
        // Another key may have sealed it.
      }
    }
    return undefined
  }

  #boundTo(purpose: string): string {
    return `${purpose}\n${this.#publicUrl}`
  }
}
