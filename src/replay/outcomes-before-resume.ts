import type { Outcomes, Replay, ReplayItem, Replays } from '../ports/replays.ts'

const PAGE = 500

/**
 * Counts the outcomes of letters that were sent before the last resume, even if they arrive later. A person has seen those
 * failures, so the halt rules ignore them. The counts come from the stored items, so they survive a crash of the runner.
 */
export class OutcomesBeforeResume {
  readonly #replays: Replays
  #resumedAt: number | undefined
  #outcomes: { -readonly [O in keyof Outcomes]: number } = none()
  /** Positions that were sent before the resume and had no outcome at the last look. */
  #onTheirWay: readonly number[] = []

  constructor(replays: Replays) {
    this.#replays = replays
  }

  async of({ id, resumedAt }: Replay): Promise<Outcomes> {
    if (resumedAt === undefined) return none()
    if (resumedAt === this.#resumedAt) await this.#lookAgain(id, resumedAt)
    else await this.#lookAtAll(id, resumedAt)
    return { ...this.#outcomes }
  }

  async #lookAtAll(id: string, resumedAt: number): Promise<void> {
    this.#resumedAt = resumedAt
    this.#outcomes = none()
    await this.#look(resumedAt, this.#itemsBehind(id, -1))
  }

  async #lookAgain(id: string, resumedAt: number): Promise<void> {
    const [first] = this.#onTheirWay
    if (first === undefined) return
    const wanted = new Set(this.#onTheirWay)
    await this.#look(resumedAt, this.#itemsBehind(id, first - 1, this.#onTheirWay.at(-1)), wanted)
  }

  async #look(resumedAt: number, items: AsyncIterable<ReplayItem>, wanted?: Set<number>): Promise<void> {
    const onTheirWay: number[] = []
    for await (const { position, status, sentAt } of items) {
      if (sentAt === undefined || sentAt >= resumedAt || wanted?.has(position) === false) continue
      if (status === 'sent') onTheirWay.push(position)
      else if (isOutcome(status)) this.#outcomes[status]++
    }
    this.#onTheirWay = onTheirWay
  }

  async *#itemsBehind(id: string, from: number, to = Number.POSITIVE_INFINITY): AsyncGenerator<ReplayItem> {
    let after: number | undefined = from
    while (after !== undefined && after < to) {
      const limit = Math.min(PAGE, to - after)
      const page: readonly ReplayItem[] = await this.#replays.items(id, { after, limit })
      yield* page
      after = page.at(-1)?.position
    }
  }
}

function none(): { -readonly [O in keyof Outcomes]: number } {
  return { recovered: 0, failed_same_cause: 0, failed_new_cause: 0 }
}

function isOutcome(status: ReplayItem['status']): status is keyof Outcomes {
  return status === 'recovered' || status === 'failed_same_cause' || status === 'failed_new_cause'
}
