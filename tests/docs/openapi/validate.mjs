// Says whether a document is OpenAPI 3.1, by the specification's own schema: node validate.mjs FILE
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The modules lie in the build tree, where `npm ci` put them, and not beside this file.
const require = createRequire(process.cwd() + "/");
const { Validator } = await import(pathToFileURL(require.resolve("@seriousme/openapi-schema-validator")));
const validator = new Validator();
const result = await validator.validate(JSON.parse(readFileSync(process.argv[2], "utf8")));
if (validator.version !== "3.1") result.errors = [`it says it is ${validator.version}, not 3.1`];
for (const error of [result.errors ?? []].flat()) console.log(`${error.instancePath ?? ""} ${error.message ?? error} ${JSON.stringify(error.params ?? "")}`);
process.exit(result.valid && validator.version === "3.1" ? 0 : 1);
