// Says which examples of an OpenAPI document do not fit the schema they stand beside, or name a host that could be called:
// node examples.mjs FILE
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/"); // the modules lie where the document does
const Ajv = require("ajv/dist/2020").default;
const spec = JSON.parse(readFileSync(process.argv[2], "utf8"));
const ajv = new Ajv({ strict: false, validateFormats: false });
let count = 0, wrong = 0;

function complain(where, words) {
    console.log(`${where}: ${words}`);
    wrong++;
}

function examplesOf(node) {
    const named = Object.values(node.examples ?? {}).map((example) => example?.value ?? example);
    return [...named, ...("example" in node ? [node.example] : [])];
}

// Names under .example and .invalid are nobody's and never will be (RFC 2606).
function checkHosts(where, text) {
    for (const [, host] of text.matchAll(/https?:\/\/([^/":\s]+)/g))
        if (!/\.(example|invalid)$/.test(host)) complain(where, `an example names ${host}`);
}

function check(where, schema, example) {
    count++;
    checkHosts(where, JSON.stringify(example));
    const fits = ajv.compile({ ...schema, components: spec.components });
    if (!fits(example)) complain(where, `${JSON.stringify(example)} does not fit: ${ajv.errorsText(fits.errors)}`);
}

function walk(where, node) {
    if (!node || typeof node !== "object") return;
    const schema = node.schema ?? (node.type ? node : null);
    if (schema && !Array.isArray(node)) for (const example of examplesOf(node)) check(where, schema, example);
    for (const [key, value] of Object.entries(node)) if (key !== "examples") walk(`${where}/${key}`, value);
}

walk("#", spec);
if (!count) complain("#", "there are no examples");
process.exit(wrong ? 1 : 0);
