/**
 * Whether JSON writes and reads the object unchanged: it comes from a literal, from JSON.parse or has no prototype, in
 * this realm or another. Instances of classes, dates and maps would come back as other types.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  return isForeignObjectPrototype(prototype)
}

function isForeignObjectPrototype(prototype: unknown): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'hasOwnProperty')
}

/** `isView` rejects proxies and objects that only imitate bytes. Their length could not be trusted. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && value instanceof Uint8Array
}
