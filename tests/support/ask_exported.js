// Asks each case of {interpreter, policy, cases} on standard input to its end, and prints one record for each.
// A case is {known: [[column, value]], unavailable: [column], row: [value], prices: [price] or null}; columns are places in
// the policy.
"use strict";

const { folder, policy: plain, cases } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { read, Case } = require(`${folder}/interpreter.js`), words = require(`${folder}/words.js`);
const usual = read(plain);

const records = cases.map(({ known, unavailable, row, prices }) => {
  const policy = prices ? read(plain, prices) : usual;
  const one = new Case(policy), steps = [];
  unavailable.forEach((k) => one.close(k));
  known.forEach(([k, value]) => one.know(k, value));
  for (;;) {
    const step = one.step(), name = (j) => policy.acquisitions[j].name;
    steps.push({
      question: step.action < 0 ? null : name(step.action),
      answer: step.answer,
      probabilities: step.probabilities,
      stop_cost: step.stopCost,
      spent: step.spent,
      why: words.explain(policy, step),
      certain: step.certainty && step.certainty.enough,
      certainty: words.certaintyText(policy, step),
      free_left: words.freeLeftText(policy, step),
      stop_ends: words.stopEndsText(policy, step),
      alternatives: step.alternatives.map((a) => [name(a.acquisition), a.price, a.expected]),
    });
    if (step.action < 0) return steps;
    one.acquire(step.action, one.openColumns(step.action).map((k) => [k, row[k]]));
  }
});
process.stdout.write(JSON.stringify(records));
