import type { PopulationView } from './machine-view.ts'

/** A drawing in which every state that somebody is in, and the states around it, are lit. */
export function litDrawing(svg: string, population: PopulationView | null): string {
  const lit = new Set(Object.keys(population?.states ?? {}).flatMap(pathsTo))
  return svg.replace(
    /class="(state [^"]*)" data-state="([^"]*)"/g,
    (group, classes: string, state: string) =>
      lit.has(state) ? `class="${classes} active" data-state="${state}"` : group,
  )
}

/** `working.fetching` → `working`, `working.fetching`; parallel states are joined by a plus. */
function pathsTo(state: string): string[] {
  return state.split('+').flatMap((region) => {
    const keys = region.split('.')
    return keys.map((_, index) => keys.slice(0, index + 1).join('.'))
  })
}
