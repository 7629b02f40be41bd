// The rooms of src are those of the table, and import as the table says.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cruise, CRUISING, readRooms, ROOT, sourcesOn, upwardIn } from './rooms.ts'

test('src holds the rooms of the table and nothing else', () => {
  const entries = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
  expect(entries.filter((entry) => !entry.isDirectory())).toEqual([])
  expect(entries.map(({ name }) => name).sort()).toEqual(
    readRooms()
      .map(({ name }) => name)
      .sort(),
  )
})

test('a room may import only what stands above it in the table', () => {
  expect(upwardIn(readRooms())).toEqual([])
})

test(
  'every source file was read by the cruiser, and none breaks a rule',
  () => {
    const { violations, read } = cruise(ROOT)
    // A cruiser that cannot parse the sources reads none of them and finds nothing wrong.
    expect(read).toEqual(sourcesOn(ROOT, 'src'))
    expect(violations).toEqual([])
  },
  CRUISING,
)
