import manifest from '../../package.json' with { type: 'json' }

export interface Version {
  readonly name: string
  readonly version: string
  readonly node: string
}

export const version: Version = Object.freeze({
  name: manifest.name,
  version: manifest.version,
  node: process.versions.node,
})
