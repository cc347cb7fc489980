import { choice, count, duration, onOff, word } from '../flag.ts'
import { HELP, JSON_OUTPUT } from './common.ts'

export const rabbitmqFlags = {
  url: word('URL', 'the server; a password is better kept in $LAZARET_AMQP_URL [amqp://localhost]'),
  json: JSON_OUTPUT,
  help: HELP,
}

export const declareFlags = {
  channel: word('NAME', 'the channel whose events the queue gets [the name of the queue]'),
  'queue-type': choice('TYPE', ['quorum', 'classic'], 'of all queues that are declared [quorum]'),
  'dead-letter-ttl': duration('how long dead letters are kept on the server [for ever]'),
  ordered: onOff('also what keeping the order of keys needs'),
  'max-length': count('messages after which a queue refuses more; quorum queues [no limit]'),
  'dead-letter-max-length': count('letters after which a dead-letter queue refuses more [no limit]'),
  ...rabbitmqFlags,
}
