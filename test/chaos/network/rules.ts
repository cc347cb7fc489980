import { type Host, type Layout, routerOf, runOn, serverOf } from './hosts.ts'

/** The ways that packets of a client take: to the server, from it, or both. */
export type Ways = 'sent' | 'received' | 'both'

/** What the router does to packets, for faults. The hosts notice nothing but missing packets and resets. */
export class Rules {
  readonly #router: string
  readonly #server: Host

  constructor(layout: Layout) {
    this.#router = routerOf(layout)
    this.#server = serverOf(layout)
  }

  /** Packets vanish, also those that close connections. */
  async drop(hosts: readonly Host[], ways: Ways): Promise<void> {
    await this.#forward(hosts, ways, '-j', 'DROP')
  }

  /** Each n-th packet of each way vanishes. */
  async lose(hosts: readonly Host[], every: number): Promise<void> {
    const nth = ['-m', 'statistic', '--mode', 'nth', '--every', String(every), '--packet', '0']
    await this.#forward(hosts, 'both', ...nth, '-j', 'DROP')
  }

  /** The router answers each packet with a reset, so connections end and nobody can open one. */
  async reset(hosts: readonly Host[]): Promise<void> {
    await this.#forward(hosts, 'both', '-p', 'tcp', '-j', 'REJECT', '--reject-with', 'tcp-reset')
  }

  /** New connections of the hosts to the server go to another port of its loopback address. */
  async redirect(hosts: readonly Host[], from: number, to: number): Promise<void> {
    for (const { address } of hosts)
      await this.#detour(
        ...['-A', 'DETOUR', '-p', 'tcp', '-s', address, '--dport', String(from)],
        ...['-j', 'DNAT', '--to-destination', `127.0.0.1:${to}`],
      )
  }

  /** All packets get through. Redirections stay. */
  async letThrough(): Promise<void> {
    await this.#run(this.#router, '-F', 'FORWARD')
  }

  async heal(): Promise<void> {
    await this.letThrough()
    await this.#detour('-F', 'DETOUR')
  }

  async #forward(hosts: readonly Host[], ways: Ways, ...rule: readonly string[]): Promise<void> {
    for (const { address } of hosts) {
      if (ways !== 'received') await this.#run(this.#router, '-A', 'FORWARD', '-s', address, ...rule)
      if (ways !== 'sent') await this.#run(this.#router, '-A', 'FORWARD', '-d', address, ...rule)
    }
  }

  #detour(...words: readonly string[]): Promise<void> {
    return this.#run(this.#server.namespace, '-t', 'nat', ...words)
  }

  #run(namespace: string, ...words: readonly string[]): Promise<void> {
    return runOn(namespace, 'iptables', '-w', ...words)
  }
}
