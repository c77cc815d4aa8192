// Replays {folder, policy, cases} as the exported page does, and prints for each case what it shows: the log, the price paid,
// the question and what else can be acquired. A case is {known, unavailable, events} with names of acquisitions and columns.
"use strict";

const { folder, policy: plain, cases } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { read, replay } = require(`${folder}/interpreter.js`), policy = read(plain);
const column = (name) => policy.columns.findIndex((one) => one.name === name);
const acquisition = (name) => policy.acquisitions.findIndex((one) => one.name === name);
const pairs = (values) => Object.entries(values).map(([name, value]) => [column(name), value]);

const shown = cases.map(({ known, unavailable, events }) => {
  const start = pairs(known).map(([k, value]) => ({ column: k, value, remark: "" }));
  const said = events.map(([kind, name, values, chosen]) => ({
    kind, j: acquisition(name), values: pairs(values), remark: "", chosen,
  }));
  const { one, later, log, overridden } = replay(policy, start, unavailable.map(column), said), step = one.step(later);
  return {
    overrides: [overridden, log.filter(({ event }) => event).map(({ overrides }) => overrides)],
    log: log.filter(({ event }) => event).map(({ kind, name, price }) => [kind, name, price]),
    spent: one.spent,
    question: step.action < 0 ? null : policy.acquisitions[step.action].name,
    open: step.action < 0 ? [] : one.openColumns(step.action).map((k) => policy.columns[k].name),
    alternatives: Object.fromEntries(step.alternatives.map((a) => [policy.acquisitions[a.acquisition].name, a.price])),
  };
});
process.stdout.write(JSON.stringify(shown));
