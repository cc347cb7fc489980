import { count, onOff, word } from '../flag.ts'

export const HELP = onOff('show this help')
export const VERSION = onOff('show the version')
export const JSON_OUTPUT = onOff('JSON on stdout and nothing else there; messages go to stderr')
export const YES = onOff('go on without asking')
export const BY = word('NAME', 'who does it, for the audit [$USER]')

/** Every command that works on a store takes these. */
export const storeFlags = {
  store: word('URL', 'memory: · file:DIR · sqlite:FILE [sqlite:./lazaret.db]'),
  config: word('FILE', 'the config file [./lazaret.yaml, if there is one]'),
  json: JSON_OUTPUT,
  help: HELP,
}

export const doctorFlags = storeFlags
export const completionFlags = { help: HELP }
export const demoFlags = {
  port: count('the port of its console [4600]'),
  seed: count('the same shop again'),
  help: HELP,
}
