const CONTINUES = 0x80

/** Reads the numbers of the protocol from bytes, one after the other. */
export class ByteReader {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  int16(): number {
    const value = this.bytes.readInt16BE(this.at)
    this.at += 2
    return value
  }

  int32(): number {
    const value = this.bytes.readInt32BE(this.at)
    this.at += 4
    return value
  }

  int64(): bigint {
    const value = this.bytes.readBigInt64BE(this.at)
    this.at += 8
    return value
  }

  unsignedVarint(): number {
    const { bytes } = this
    const first = bytes[this.at++]
    if (first !== undefined && first < CONTINUES) return first
    let value = first === undefined ? 0 : first - CONTINUES
    for (let scale = CONTINUES; ; scale *= CONTINUES) {
      const byte = bytes[this.at++]
      if (byte === undefined) throw new RangeError('the answer of the broker ends too early')
      if (byte < CONTINUES) return value + byte * scale
      value += (byte - CONTINUES) * scale
    }
  }

  /** A number that can be negative. It is exact up to 53 bits; the times and offsets of records are smaller. */
  varint(): number {
    const value = this.unsignedVarint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /** Bytes with their length before them; null if the length is negative. They are not copied. */
  varintBytes(): Buffer | null {
    const length = this.varint()
    return length < 0 ? null : this.take(length)
  }

  take(length: number): Buffer {
    const from = this.at
    this.at += length
    if (this.at > this.bytes.length) throw new RangeError('the answer of the broker ends too early')
    return this.bytes.subarray(from, this.at)
  }

  /** Optional fields of later versions. */
  skipTaggedFields(): void {
    for (let left = this.unsignedVarint(); left > 0; left--) {
      this.unsignedVarint()
      const length = this.unsignedVarint()
      this.at += length
    }
  }
}
