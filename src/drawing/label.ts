import type { ChartTransition } from '../machines/chart.ts'
import type { Box, Point } from './geometry.ts'
import { textWidth } from './text-width.ts'

export const labelFontSize = 12
export const lineHeight = 16
const besideWidthMax = 190

/** The words of one transition and the room they take. */
export interface Label {
  transition: ChartTransition
  event: string
  /** With its brackets; empty when unguarded. */
  guard: string
  /** A guard stands beside its event, or below where both in a row would be too wide. */
  stacked: boolean
  width: number
  height: number
}

export interface PlacedLabel {
  label: Label
  box: Box
}

export function labelOf(transition: ChartTransition): Label {
  const event = eventText(transition)
  const guard = transition.guard === '' ? '' : `[${transition.guard}]`
  const besideWidth = textWidth([event, guard].filter(Boolean).join(' '), labelFontSize)
  if (guard === '' || besideWidth <= besideWidthMax) {
    return { transition, event, guard, stacked: false, width: besideWidth, height: lineHeight }
  }
  const width = Math.max(textWidth(event, labelFontSize), textWidth(guard, labelFontSize))
  return { transition, event, guard, stacked: true, width, height: 2 * lineHeight }
}

function eventText({ kind, event, targets, source, reenter }: ChartTransition): string {
  const name = kind === 'always' ? 'always' : event
  return reenter && targets.includes(source) ? `↻ ${name}` : name
}

const gapHeight = 3

export function labelsWidth(labels: readonly Label[]): number {
  return Math.max(0, ...labels.map((label) => label.width))
}

export function labelsHeight(labels: readonly Label[]): number {
  const lines = labels.reduce((sum, label) => sum + label.height, 0)
  return lines + Math.max(0, labels.length - 1) * gapHeight
}

/** Labels one below the other, each centred in a column of their common width or flush left. */
export function stackLabels(
  labels: readonly Label[],
  at: Point,
  align: 'left' | 'centre',
): PlacedLabel[] {
  const columnWidth = labelsWidth(labels)
  let y = at.y
  return labels.map((label) => {
    const x = align === 'left' ? at.x : at.x + (columnWidth - label.width) / 2
    const box = { x, y, width: label.width, height: label.height }
    y += label.height + gapHeight
    return { label, box }
  })
}
