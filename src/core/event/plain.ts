/**
 * An object that JSON writes and reads back as it was: made by a literal, by JSON.parse or without a prototype, in
 * this realm or another. Instances of classes, dates, maps and the like are not: they would come back as something else.
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

/** `isView` sees through neither proxies nor pretenders, whose length could not be trusted. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && value instanceof Uint8Array
}
