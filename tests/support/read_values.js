// Reads each [column, text, accept] of {folder, values} on standard input, and prints {value, remark} or {refusal}.
"use strict";

const { folder, values } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { readValue, Refusal } = require(`${folder}/words.js`);

const found = values.map(([column, text, accept]) => {
  try {
    return readValue(column, text, accept);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { refusal: error.message, acceptable: error.acceptable };
  }
});
process.stdout.write(JSON.stringify(found));
