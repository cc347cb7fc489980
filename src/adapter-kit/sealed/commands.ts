// Commands of a store whose letters are sealed: a patch has values of payloads, and a result says what a schema found in one.
import type { TextCodec } from '../../ports/codec.ts'
import type { Command, CommandOutcome, CommandRecord, Commands } from '../../ports/commands.ts'

/**
 * Writes the patch of a task and the outcome of a command by a codec, and reads them as they were. Without a codec of texts
 * the commands are the store's own.
 */
export function sealedCommands<C extends Commands>(
  commands: C,
  texts: TextCodec | undefined,
): Commands & Pick<C, 'onCommand'> {
  if (texts === undefined) return commands
  const seal = (value: unknown) => (value === undefined ? undefined : texts.encode(JSON.stringify(value)))
  const open = (value: unknown) => {
    if (typeof value !== 'string') return value
    const opened = texts.decode(value)
    return opened === value ? value : (JSON.parse(opened) as unknown)
  }
  const record = (each: CommandRecord): CommandRecord => ({
    ...each,
    command: withPatch(each.command, open),
    ...(each.outcome !== undefined && { outcome: withOutcome(each.outcome, open, texts.decode) }),
  })
  const sealed: Commands = {
    send: (sent, ttlMs) =>
      commands.send(
        sent.map(each => withPatch(each, seal)),
        ttlMs,
      ),
    claim: async (instance, limit) =>
      (await commands.claim(instance, limit)).map(each => withPatch(each, open)),
    finish: (id, instance, outcome) =>
      commands.finish(id, instance, withOutcome(outcome, seal, texts.encode)),
    get: async request => (await commands.get(request)).map(record),
    list: async limit => (await commands.list(limit)).map(record),
    purge: before => commands.purge(before),
    ...(commands.onCommand !== undefined && {
      onCommand: (instance: string, listener: () => void) => commands.onCommand!(instance, listener),
    }),
  }
  return sealed as Commands & Pick<C, 'onCommand'>
}

function withPatch(command: Command, change: (value: unknown) => unknown): Command {
  const { task } = command
  // The store refuses a command that is not valid, and says why.
  if (task?.['patch'] === undefined) return command
  return { ...command, task: { ...task, patch: change(task['patch']) } }
}

function withOutcome(
  outcome: CommandOutcome,
  ofResult: (value: unknown) => unknown,
  ofText: (text: string) => string,
): CommandOutcome {
  if (outcome.ok === true) return { ok: true, result: ofResult(outcome.result) }
  return outcome.ok === false ? { ok: false, error: ofText(outcome.error) } : outcome
}
