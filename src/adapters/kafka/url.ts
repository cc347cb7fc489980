import { OptionsError } from '../../core/options/faults.ts'
import type { KafkaOptions, KafkaSasl } from './options.ts'

const FORM = /^kafka(s?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/?(?:\?([^#]*))?$/
const DEFAULT_PORT = 9092
const MECHANISMS: Readonly<Record<string, 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'>> = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
}
const DEFAULT_MECHANISM = 'scram-sha-512'
const REMEDY =
  "give a URL such as 'kafka://host:9092,other:9092', or 'kafkas://user:password@host:9092?sasl=scram-sha-512' with TLS and login"

/** The connection of a URL: config files, environment variables and the command line have one text for it. */
export function optionsOfUrl(url: string): Pick<KafkaOptions, 'brokers' | 'tls' | 'sasl'> {
  const [, secure = '', login, hosts = '', query = ''] = FORM.exec(url) ?? []
  const brokers = hosts.split(',').filter(host => host !== '')
  if (brokers.length === 0) throw invalidUrl()
  const parameters = new URLSearchParams(query)
  if ([...parameters.keys()].some(name => name !== 'sasl')) throw invalidUrl()
  return {
    brokers: brokers.map(withPort),
    ...(secure === '' ? {} : { tls: {} }),
    ...(login === undefined ? {} : { sasl: saslOf(login, parameters.get('sasl') ?? DEFAULT_MECHANISM) }),
  }
}

function withPort(host: string): string {
  return /:\d+$/.test(host) ? host : `${host}:${DEFAULT_PORT}`
}

function saslOf(login: string, name: string): KafkaSasl {
  const mechanism = MECHANISMS[name.toLowerCase()]
  const colon = login.indexOf(':')
  if (mechanism === undefined || colon === -1) throw invalidUrl()
  try {
    return {
      mechanism,
      username: decodeURIComponent(login.slice(0, colon)),
      password: decodeURIComponent(login.slice(colon + 1)),
    }
  } catch {
    throw invalidUrl()
  }
}

/** The value is not shown: it contains the password. */
function invalidUrl(): OptionsError {
  return new OptionsError('kafka', [{ path: 'url', received: 'a value that is not shown', remedy: REMEDY }])
}
