import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { asRole, findPsql, psql } from '../../../../test/support/psql.ts'
import { groupingOf } from '../../../core/dead-letter/group.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { openPostgres } from '../store.ts'

const services = [await findPostgres(), await findPsql()] as const
const missing = services.flatMap(each => (each.found ? [] : [each.why]))
const isThere = missing.length === 0
const server = isThere && services[0].found ? await services[0].start() : undefined
const database = server && (await TestDatabase.migrated(server))
afterAll(async () => {
  await database?.close()
  await server?.close()
})

/** Two roles as docs/brokers/postgres.md makes them: one may look, the other may decide, and neither may more. */
async function roles() {
  const name = uniqueName('letters').replaceAll('-', '_')
  const [reader, decider] = [`${name}_reader`, `${name}_decider`]
  await database!.pool.query(
    `create role ${reader} login; grant usage on schema lazaret to ${reader};
     grant select on lazaret.letters, lazaret.letter_groups to ${reader};
     create role ${decider} login; grant usage on schema lazaret to ${decider};
     grant execute on function lazaret.letter_discard(text, text, text), lazaret.letter_reopen(text, text, text),
       lazaret.group_triage(text, text, text, text, text, timestamptz) to ${decider}`,
  )
  return {
    reader: asRole(database!.url, reader),
    decider: asRole(database!.url, decider),
    drop: () =>
      database!.pool.query(`drop owned by ${reader}, ${decider}; drop role ${reader}; drop role ${decider}`),
  }
}

describe.runIf(isThere)(
  `letters from psql alone${isThere ? '' : ` (skipped: ${missing.join('; ')})`}`,
  () => {
    it('R16/S6: restricted roles list, discard and reopen letters of any broker, and can do no more', async () => {
      const store = openPostgres({ pool: database!.pool })
      const make = createFactory({ clock: new FakeClock() })
      const { reader, decider, drop } = await roles()
      const channel = uniqueName('mails')
      const [letter, replaying] = [make.letter({ channel, handler: 'loki' }), make.letter({ channel })]
      await store.deadLetters.send(letter)
      await store.deadLetters.send(replaying)
      await store.deadLetters.change(replaying.id, { to: 'replaying', at: 1, replayId: 'r1' })

      const list = `select id, handler, state from lazaret.letters where channel = '${channel}' and state = 'dead'`
      expect(await psql(reader, list)).toEqual([`${letter.id}|loki|dead`])
      for (const hidden of ['dead_letters', 'groups', 'audit'])
        await expect(psql(reader, `select * from lazaret.${hidden}`)).rejects.toThrow('permission denied')
      await expect(psql(reader, 'select body from lazaret.letters')).rejects.toThrow('does not exist')
      await expect(psql(decider, 'select * from lazaret.letters')).rejects.toThrow('permission denied')
      await expect(psql(reader, `update lazaret.letters set state = 'discarded'`)).rejects.toThrow(
        'permission denied',
      )
      await expect(psql(reader, `select lazaret.letter_discard('${letter.id}', 'eve')`)).rejects.toThrow(
        'permission denied',
      )
      await expect(psql(decider, 'delete from lazaret.dead_letters')).rejects.toThrow('permission denied')

      expect(
        await psql(decider, `select lazaret.letter_discard('${letter.id}', 'ada', 'sent by hand')`),
      ).toEqual(['t'])
      expect(await store.deadLetters.get(letter.id)).toMatchObject({ state: 'discarded' })
      expect(await psql(decider, `select lazaret.letter_discard('${letter.id}', 'bob')`)).toEqual(['f'])
      expect(await psql(decider, `select lazaret.letter_discard('${replaying.id}', 'bob')`)).toEqual(['f'])
      expect(await psql(decider, `select lazaret.letter_reopen('${letter.id}', 'ada')`)).toEqual(['t'])
      expect(await store.deadLetters.get(letter.id)).toMatchObject({ state: 'dead' })
      await expect(psql(decider, `select lazaret.letter_discard('${letter.id}', '')`)).rejects.toThrow(
        'p_by is empty',
      )
      expect(
        await database!.rows(
          `select by, action, detail ->> 'note' as note from lazaret.audit where target = '${letter.id}' order by seq`,
        ),
      ).toEqual([
        { by: 'ada', action: 'letter.discard', note: 'sent by hand' },
        { by: 'ada', action: 'letter.reopen', note: null },
      ])
      await drop()
      await store.close()
    })

    it('R16/S6: triage by SQL is the triage of the console', async () => {
      const store = openPostgres({ pool: database!.pool })
      const make = createFactory({ clock: new FakeClock() })
      const { reader, decider, drop } = await roles()
      const channel = uniqueName('pays')
      const letter = make.letter({ channel, error: new RangeError(`no room in ${channel}`) })
      await store.deadLetters.send(letter)
      const { id } = groupingOf(letter)
      const shown = () =>
        psql(
          reader,
          `select state, owner, letters, waiting from lazaret.letter_groups where group_id = '${id}'`,
        )
      const before = await shown()
      expect(before[0]).toMatch(/^open\|\|/)

      const said = `select lazaret.group_triage('${id}', 'acknowledged', 'ada', 'ada', 'the disk is full')`
      expect(await psql(decider, said)).toEqual(['t'])
      expect((await shown())[0]).toMatch(/^acknowledged\|ada\|/)
      expect(await store.groups.get(id)).toMatchObject({
        state: 'acknowledged',
        triage: { owner: 'ada', setBy: 'ada', setAt: expect.any(Number) },
        notes: [{ by: 'ada', text: 'the disk is full', at: expect.any(Number) }],
      })
      const muted = `select lazaret.group_triage('${id}', 'muted', 'bob', null, null, now() - interval '1 second')`
      expect(await psql(decider, muted)).toEqual(['t'])
      // A mute that has ended is open again, here as in the console.
      expect((await shown())[0]).toMatch(/^open\|ada\|/)
      expect(await store.groups.get(id)).toMatchObject({
        state: 'open',
        triage: { state: 'muted', owner: 'ada' },
      })

      await expect(psql(decider, `select lazaret.group_triage('${id}', 'closed', 'bob')`)).rejects.toThrow(
        'Give open, acknowledged, muted or resolved',
      )
      expect(await psql(decider, `select lazaret.group_triage('none', 'open', 'bob')`)).toEqual(['f'])
      await expect(psql(reader, `select lazaret.group_triage('${id}', 'open', 'eve')`)).rejects.toThrow(
        'permission denied',
      )
      await drop()
      await store.close()
    })
  },
)
