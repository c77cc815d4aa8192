// Reads policies, one JSON text a line, asks each about one case to its end, and writes a line for each.
"use strict";

const { read, Case } = require(`${process.argv[2]}/interpreter.js`), { explain } = require(`${process.argv[2]}/words.js`);

function ask(text) {
  const policy = read(JSON.parse(text)), one = new Case(policy), most = policy.acquisitions.length + 2;
  for (let k = 0; k < most; k++) {
    const step = one.step();
    explain(policy, step);
    if (step.action < 0) return "used";
    const open = one.openColumns(step.action);
    one.acquire(step.action, open.map((c) => [c, valueOf(policy.columns[c])]).filter(() => k % 3 < 2));
  }
  throw new Error("endless");
}

const valueOf = (column) => (column.kind === "number" ? (column.low ?? 0) : column.kind === "bool" ? true : column.levels[0]);

require("readline").createInterface({ input: process.stdin }).on("line", (text) => {
  let said;
  try {
    said = ask(text);
  } catch (error) {
    said = `${error.name}: ${error.message}`.split("\n")[0].slice(0, 200);
  }
  process.stdout.write(said + "\n");
});
