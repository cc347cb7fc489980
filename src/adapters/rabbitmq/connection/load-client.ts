import { ClientMissingError } from '../errors.ts'
import type { AmqpClient } from './amqp.ts'

/** Loaded when the first connection is made: whoever only imports types or options needs no client. */
export async function loadClient(): Promise<AmqpClient> {
  try {
    const module: unknown = await import('amqplib')
    return ((module as { default?: AmqpClient }).default ?? module) as AmqpClient
  } catch (error) {
    throw new ClientMissingError(error)
  }
}
