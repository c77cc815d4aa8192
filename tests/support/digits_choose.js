// Prints whether digits choose among the levels of {folder, levels} on standard input.
"use strict";

const { folder, levels } = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(require(`${folder}/words.js`).digitsChoose(levels)));
