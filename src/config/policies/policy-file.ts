import { resolve } from 'node:path'
import type { StandardSchema } from '../../ports/schema.ts'
import { ConfigError } from '../config-error.ts'
import type { Env } from '../substitute.ts'
import { fileNameOf, parseServiceConfig, readFile, type ServiceConfig } from './read-file.ts'

/** The file of policies, to be read again and again. */
export class PolicyFile<S = unknown> {
  /** As the user named it. */
  readonly name: string
  readonly path: string
  readonly #source: string | URL | undefined
  readonly #env: Env
  readonly #schema: StandardSchema<S> | undefined
  #text: string | undefined
  /** The file had content once: one that is empty or missing now was not meant to return to the defaults. */
  #hadContent = false

  constructor(source: string | URL | undefined, env: Env, schema: StandardSchema<S> | undefined) {
    this.#source = source
    this.#env = env
    this.#schema = schema
    this.name = fileNameOf(source)
    // The process may change its working directory later.
    this.path = resolve(this.name)
  }

  /** Throws a ConfigError with all faults. */
  read(): ServiceConfig<S> {
    const text = this.#load()
    this.#text = text
    const config = parseServiceConfig(text, this.name, this.#env, this.#schema)
    if (this.#hadContent && config.isEmpty)
      throw new ConfigError(this.name, "is empty; write 'policies: {}' for the defaults")
    this.#hadContent ||= !config.isEmpty
    return config
  }

  /** Whether the text differs from the one that was read last. A file that cannot be read counts as changed. */
  get hasChanged(): boolean {
    try {
      return this.#load() !== this.#text
    } catch {
      return true
    }
  }

  #load(): string {
    const mayBeMissing = this.#source === undefined && !this.#hadContent
    return readFile(this.path, this.name, mayBeMissing)
  }
}
