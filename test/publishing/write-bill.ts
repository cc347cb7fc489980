// `npm run sbom`: prints the bill of materials of the package, in CycloneDX.
import { writeLine } from '../support/write-line.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import { bundledPackages } from './bundled.ts'

writeLine(JSON.stringify(billOfMaterials(bundledPackages()), undefined, 2))
