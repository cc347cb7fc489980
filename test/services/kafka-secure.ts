import { pbkdf2Sync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  alterUserScramCredentialsV0,
  ConnectionPool,
  ResourcePatternTypes,
  ResourceTypes,
  ScramMechanisms,
} from '@platformatic/kafka'
import { certificate } from '../support/certificate.ts'
import { freePorts } from './free-ports.ts'
import type { Kafka, KafkaService } from './kafka.ts'

/** The user that may do everything until a right is taken away. */
export const USER = 'service'
export const PASSWORD = 'a-password-7'
/** A user without any right, until it gets one. */
export const STRANGER = 'stranger'

type Operation = 'READ' | 'WRITE' | 'CREATE' | 'DESCRIBE'
type Resource = 'TOPIC' | 'GROUP'

const LOGIN = 'org.apache.kafka.common.security'
const SCRAM = [
  ['sha256', ScramMechanisms.SCRAM_SHA_256],
  ['sha512', ScramMechanisms.SCRAM_SHA_512],
] as const
const SALT = Buffer.from('lazaret-tests')
const ITERATIONS = 4_096
const ALL = '*'

/** A broker with a listener that needs TLS, a login and ACLs. Its other listener lets an administrator in without them. */
export class SecureKafka {
  /** The addresses of the listener. */
  readonly brokers: string[]
  /** The certificate of the brokers. */
  readonly ca: Buffer
  readonly admin: Admin
  readonly #service: KafkaService
  readonly #folder: string

  private constructor(service: KafkaService, port: number, ca: Buffer, folder: string) {
    this.#service = service
    this.brokers = [`127.0.0.1:${port}`]
    this.ca = ca
    this.#folder = folder
    this.admin = new Admin({ clientId: 'operator', bootstrapBrokers: service.brokers })
  }

  static async start(found: Kafka & { readonly found: true }): Promise<SecureKafka> {
    const [port] = (await freePorts(1)) as [number]
    const { key, cert } = await certificate()
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-kafka-tls-'))
    const keyStore = join(folder, 'broker.pem')
    await writeFile(keyStore, Buffer.concat([key, cert]))
    const secure = new SecureKafka(
      await found.start({ config: configOf(port, keyStore) }),
      port,
      cert,
      folder,
    )
    try {
      await secure.#createUsers()
      for (const resource of ['TOPIC', 'GROUP'] as const) await secure.#change('ALLOW', 'ALL', resource, ALL)
    } catch (error) {
      await secure.close()
      throw error
    }
    return secure
  }

  /** Gives the stranger rights on a topic or group, or on all whose names begin so. */
  async grant(operations: readonly Operation[], resource: Resource, name: string, isPrefix = false) {
    const resourcePatternType = isPrefix ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL
    const creations = operations.map(operation => ({
      ...aclOf('ALLOW', operation, resource, name),
      principal: `User:${STRANGER}`,
      resourcePatternType,
    }))
    await this.admin.createAcls({ creations })
  }

  /** Takes a right of the user away. */
  async deny(operation: Operation, resource: Resource, name: string): Promise<void> {
    await this.#change('DENY', operation, resource, name)
  }

  /** Gives it back. */
  async allow(operation: Operation, resource: Resource, name: string): Promise<void> {
    await this.admin.deleteAcls({ filters: [aclOf('DENY', operation, resource, name)] })
  }

  async close(): Promise<void> {
    await this.admin.close()
    await this.#service.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #change(
    permission: 'ALLOW' | 'DENY',
    operation: Operation | 'ALL',
    resource: Resource,
    name: string,
  ): Promise<void> {
    await this.admin.createAcls({ creations: [aclOf(permission, operation, resource, name)] })
  }

  async #createUsers(): Promise<void> {
    const pool = new ConnectionPool('operator')
    const [host, port] = this.#service.brokers[0]!.split(':') as [string, string]
    const connection = await pool.get({ host, port: Number(port) })
    // A request may name a user once.
    for (const [digest, mechanism] of SCRAM) {
      const saltedPassword = pbkdf2Sync(PASSWORD, SALT, ITERATIONS, digest === 'sha256' ? 32 : 64, digest)
      const credentials = { mechanism, iterations: ITERATIONS, salt: SALT, saltedPassword }
      const users = [USER, STRANGER].map(name => ({ name, ...credentials }))
      await alterUserScramCredentialsV0.api.async(connection, [], users)
    }
    await pool.close()
  }
}

function aclOf(
  permission: 'ALLOW' | 'DENY',
  operation: Operation | 'ALL',
  resource: Resource,
  resourceName: string,
) {
  return {
    resourceType: ResourceTypes[resource],
    resourceName,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${USER}`,
    host: ALL,
    operation: AclOperations[operation],
    permissionType: AclPermissionTypes[permission],
  }
}

function configOf(port: number, keyStore: string) {
  const listener = 'listener.name.secure'
  const scram = `${LOGIN}.scram.ScramLoginModule required;`
  return {
    listeners: `SECURE://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL',
    'inter.broker.listener.name': 'PLAINTEXT',
    [`${listener}.ssl.keystore.type`]: 'PEM',
    [`${listener}.ssl.keystore.location`]: keyStore,
    [`${listener}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    [`${listener}.plain.sasl.jaas.config`]: `${LOGIN}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
    [`${listener}.scram-sha-256.sasl.jaas.config`]: scram,
    [`${listener}.scram-sha-512.sasl.jaas.config`]: scram,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
  }
}
