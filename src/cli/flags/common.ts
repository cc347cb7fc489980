import { count, onOff, port, word } from '../flag.ts'

export const HELP = onOff('show this help')
export const VERSION = onOff('show the version')
export const JSON_OUTPUT = onOff('JSON on stdout and nothing else there; messages go to stderr')
export const YES = onOff('go on without asking')
export const BY = word('NAME', 'who does it, for the audit [$USER]')

/** Every command that works on a store takes these. */
export const storeFlags = {
  store: word('URL', 'memory: · file:DIR · sqlite:FILE · postgres://… · redis://… [sqlite:./lazaret.db]'),
  config: word('FILE', 'the config file [./lazaret.yaml, if there is one]'),
  json: JSON_OUTPUT,
  help: HELP,
}

export const doctorFlags = storeFlags
export const serveFlags = {
  port: port('the port it listens on [4600]'),
  host: word('NAME', 'the address it listens on; any but a loopback needs tokens in the config [127.0.0.1]'),
  ...storeFlags,
}
export const completionFlags = { help: HELP }
export const demoFlags = {
  port: port('the port of its console [4600, or the next free one]'),
  host: word('NAME', 'the address it listens on [127.0.0.1]'),
  seed: count('which shop it is: the same seed gives the same one again [1]'),
  store: word('URL', 'a new sqlite:FILE to keep, or memory: [a file that is gone afterwards]'),
  json: JSON_OUTPUT,
  help: HELP,
}
