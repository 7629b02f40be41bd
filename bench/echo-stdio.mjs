// An upstream over stdio: of 2026-07-28, or with --legacy one that opens with `initialize`.
import { createInterface } from 'node:readline'
import { answerLegacy, answerModern } from './frames.mjs'

const answer = process.argv.includes('--legacy') ? answerLegacy : answerModern
createInterface({ input: process.stdin }).on('line', (line) => {
  const frame = JSON.parse(line)
  if (frame.id !== undefined) process.stdout.write(`${JSON.stringify(answer(frame))}\n`)
})
