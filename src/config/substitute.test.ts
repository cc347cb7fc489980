// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in texts are what is tested
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Env, substitute } from './substitute.ts'

const env = { HOST: 'rabbit.local', EMPTY: '', NESTED: '${HOST}' }

/** The variables with a problem; undefined stands for a brace that begins no variable. */
const variables = (text: string, from: Env) => substitute(text, from).problems.map(({ variable }) => variable)

describe('the environment is put into texts', () => {
  it.each([
    ['amqp://${HOST}:5672', 'amqp://rabbit.local:5672'],
    ['${HOST:-localhost}', 'rabbit.local'],
    ['${MISSING:-localhost}', 'localhost'],
    ['${EMPTY:-localhost}', 'localhost'],
    ['${EMPTY-localhost}', ''],
    ['${MISSING:-}', ''],
    ['${HOST}${HOST}', 'rabbit.localrabbit.local'],
    ['a plain $ and $HOST', 'a plain $ and $HOST'],
    ['$${HOST}', '${HOST}'],
  ])('F7: %s is %s', (text, expected) => {
    expect(substitute(text, env)).toMatchObject({ text: expected, problems: [] })
  })

  it('F7: a variable that is not set and has no default is missing, each by its name', () => {
    expect(variables('${ONE}-${TWO}', env)).toEqual(['${ONE}', '${TWO}'])
  })

  it('F7: a substituted value is not substituted again', () => {
    expect(substitute('${NESTED}', env).text).toBe('${HOST}')
  })

  it('F7: a brace that begins no variable is told apart from a text', () => {
    expect(variables('${not a name}', env)).toEqual([undefined])
    expect(variables('${OPEN', env)).toEqual([undefined])
  })

  it('F7: names of the prototype are not variables', () => {
    expect(variables('${constructor}', {})).toEqual(['${constructor}'])
  })

  it('F7: a text without ${ stays as it is, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.string().filter(text => !text.includes('${')),
        text => {
          expect(substitute(text, env)).toEqual({
            text,
            isFromEnvironment: false,
            problems: [],
          })
        },
      ),
    )
  })
})
