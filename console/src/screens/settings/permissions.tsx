import type { Action, Me } from '../../api/types.ts'
import { Tag } from '../../ui/tags.tsx'
import '../../ui/table.css'
import './settings.css'

const WORDS: Readonly<Record<Action, string>> = {
  'letter.reveal': 'Reveal masked payloads',
  'letter.discard': 'Discard letters',
  'letter.reopen': 'Release, unpark or restore letters',
  'letters.purge': 'Delete letters permanently',
  'letters.export': 'Export letters',
  'view.save': 'Save views of letters',
  'group.triage': 'Acknowledge, mute or resolve groups',
  'replay.plan': 'Plan replays',
  'replay.approve': "Approve others' replays",
  'replay.start': 'Start replays',
  'replay.pause': 'Pause replays',
  'replay.resume': 'Resume replays',
  'replay.cancel': 'Cancel replays',
  'breaker.force': 'Force breakers',
  'consumer.pause': 'Pause consumers',
  'consumer.resume': 'Resume consumers',
  'fleet.command': 'Command services',
  'demo.act': 'Run demo actions',
}

export function Permissions({ me }: { me: Me }) {
  return (
    <table className="table permissions">
      <thead>
        <tr>
          <th scope="col">Action</th>
          <th scope="col" className="col-may">
            Allowed
          </th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(me.can).map(([action, { allowed, reason }]) => (
          <tr key={action}>
            <td>
              {WORDS[action as Action] ?? action}
              {reason && <div className="small quiet">{reason}</div>}
            </td>
            <td>
              {allowed ? (
                <Tag tone="good" glyph="check">
                  yes
                </Tag>
              ) : (
                <Tag tone="idle" glyph="lock">
                  no
                </Tag>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
