// The ready-made answer command: a server that chooses its words can neither run anything nor make it unreadable.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { answerCommand, answersIn } from '../../src/cli/commands/answer-words.ts'

const HOSTILE = [
  "k'; echo gone; '",
  'a=b==',
  'say "hi"',
  '$(id) `id` \\ ; & | > %PATH%',
  'line\nbreak\r\u001b[2J\u009b\u202e',
  '',
  '{"a": 1}=',
  'ключ 🗝',
]
const ID = { id: '5d0c' }
const asking = (key: string, field: string) => ({
  [key]: { method: 'elicitation/create', params: { requestedSchema: { properties: { [field]: {} } } } },
})
/** As a person fills it in. */
const filled = (command: string) => command.replaceAll('…', '"Ada"')

/** The words that a shell makes of a command. */
function wordsOf(command: string): string[] {
  const program = `mcpx() { printf '%s\\0' "$@"; }; ${command}`
  const { stdout, stderr } = spawnSync('sh', ['-c', program], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\0').slice(0, -1)
}

test.skipIf(process.platform === 'win32').each(HOSTILE)(
  '%j as a key and a field comes back through a shell',
  (text) => {
    const words = wordsOf(filled(answerCommand(ID, asking(text, text))))
    expect(words.slice(0, 4)).toEqual(['call', '--continue', '5d0c', '--answer'])
    expect(words).toHaveLength(5)
    expect(answersIn(words.slice(4))).toEqual({ [text]: { action: 'accept', content: { [text]: 'Ada' } } })
  },
)

test.each(HOSTILE)('%j is printed in plain characters', (text) => {
  expect(answerCommand(ID, asking(text, text))).toMatch(/^[\w .:\\"'={},…-]+$/)
})

test.skipIf(process.platform === 'win32')('a state needs the call and its arguments again', () => {
  const args = { name: "it's" }
  const goOn = { target: 'shop.order', args, state: 'abc-_' }
  const words = wordsOf(filled(answerCommand(goOn, asking('colour', 'name'))))
  const answer = 'colour={"action": "accept", "content": {"name": "Ada"}}'
  expect(words).toEqual(['call', 'shop.order', JSON.stringify(args), '--state', 'abc-_', '--answer', answer])
})

test('an answer by hand may have an equals sign in its key; what is no answer is refused', () => {
  expect(answersIn(['abc==={"action": "decline"}'])).toEqual({ 'abc==': { action: 'decline' } })
  expect(() => answersIn(['abc'])).toThrow('is not key=json')
  expect(() => answersIn(['abc=[1]'])).toThrow('is not key=json')
  expect(() => answersIn(['abc={x'])).toThrow('The answers are not JSON')
})
