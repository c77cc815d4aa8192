// Prints the box of {boxes} at which each case of {folder, policy, cases} is, when each acquisition is asked; -1 for none.
// A case is {known: [[column, value]], unavailable: [column]}; columns are places in the policy.
"use strict";

const { folder, policy: plain, boxes, cases } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { read, Case } = require(`${folder}/interpreter.js`), policy = read(plain);

const places = cases.map(({ known, unavailable }) => {
  const one = new Case(policy);
  unavailable.forEach((k) => one.close(k));
  known.forEach(([k, value]) => one.know(k, value));
  return policy.acquisitions.map((_, j) => one.placeAmong(boxes, j));
});
process.stdout.write(JSON.stringify(places));
