/** A store that did not answer: the answer has only the data of the others. */
export interface StoreFault {
  /** The name of the store. */
  store: string
  /** Its error, without credentials. */
  problem: string
}
