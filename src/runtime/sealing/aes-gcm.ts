import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts with AES-256-GCM. The result can be decrypted only with the same `boundTo`. */
export function encrypt(key: Uint8Array, text: string, boundTo: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(boundTo))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Throws if the key or `boundTo` is another one, or if the data was changed. */
export function decrypt(key: Uint8Array, data: Buffer, boundTo: string): string {
  const decipher = createDecipheriv(ALGORITHM, key, data.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(boundTo))
  decipher.setAuthTag(data.subarray(data.length - TAG_BYTES))
  const text = decipher.update(data.subarray(NONCE_BYTES, data.length - TAG_BYTES))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}
