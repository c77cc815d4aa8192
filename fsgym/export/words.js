// The words of `fsgym ask`: prices, probabilities, why a question is asked, and what a value may be. A browser has the
// global FsgymWords, Node has module.exports. Texts are plain; whoever shows them escapes them.
"use strict";

const FsgymWords = (() => {
  const LISTED = 12; // values in a message
  const RUNNERS_UP = 2; // other acquisitions that are mentioned
  const SMALLEST_DOUBT = 1e-6; // that is said in figures

  const trimmed = (digits) => (digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits);

  // x with a number of decimals; exact halves go to the even neighbour.
  function fixed(x, decimals) {
    const scaled = Math.abs(x) * 10 ** decimals, below = Math.floor(scaled);
    const isHalf = scaled - below === 0.5 && Number.isInteger(x * 2 ** 20);
    if (!isHalf) return x.toFixed(decimals);
    return ((Math.sign(x) * (below + (below % 2))) / 10 ** decimals).toFixed(decimals);
  }

  // x with at most so many digits, without zeros at the end.
  function general(x, digits) {
    if (x === 0 || !Number.isFinite(x)) return x === 0 ? "0" : String(x);
    const [mantissa, power] = x.toExponential(digits - 1).split("e"), e = Number(power);
    if (e >= -4 && e < digits) return trimmed(fixed(x, digits - 1 - e));
    const sign = e < 0 ? "-" : "+";
    return `${trimmed(mantissa)}e${sign}${String(Math.abs(e)).padStart(2, "0")}`;
  }

  // A name in quotes.
  function quoted(text) {
    const plain = String(text);
    const mark = plain.includes("'") && !plain.includes('"') ? '"' : "'";
    const cut = plain.length > 80 ? `${plain.slice(0, 77)}...` : plain;
    return mark + cut.replace(/\\/g, "\\\\").replace(mark === "'" ? /'/g : /(?!)/, "\\'") + mark;
  }

  function listing(values, most = LISTED) {
    return values.slice(0, most).join(", ") + (values.length > most ? ", ..." : "");
  }

  const priceText = (price) => (price ? `price ${general(price, 4)}` : "free");

  function probabilityText(share) {
    if (share > 0 && share < 0.01) return "below 1 %";
    return share > 0.99 && share < 1 ? "above 99 %" : `${fixed(100 * share, 0)} %`;
  }

  function valueText(column, value) {
    const text = typeof value === "boolean" ? (value ? "yes" : "no") : typeof value === "number" ? general(value, 12) : value;
    return column.unit ? `${text} ${column.unit}` : text;
  }

  // --- why a question is asked

  // What a step rests on, in sentences.
  function explain(policy, step) {
    const unused = unusedText(policy, step);
    return [...belief(policy, step), ...decision(policy, step), ...others(policy, step), unused].join(" ").trimEnd();
  }

  // Which known values have no effect yet.
  function unusedText(policy, { unused }) {
    const names = unused.map((k) => policy.columns[k].name).join(", ");
    return names ? `Known, but not used yet: ${names}.` : "";
  }

  // An answer, and a class, in words: those of the policy for a number and its range, otherwise the label.
  const answerText = ({ answers, words }, k) => words?.answers[k] ?? String(answers[k]);
  const classText = ({ classes, words }, k) => words?.ranges[k] ?? String(classes[k]);

  // What is said in place of beliefs by a policy that has none.
  function answerNowText(policy, answer) {
    const text = answerText(policy, answer);
    return answer < policy.classes.length ? `The answer now would be ${text}.` : `The case would be referred to ${text} now.`;
  }

  // The answer as what is done: "answer yes", "refer to a person".
  const answering = (policy, answer) => `${answer < policy.classes.length ? "answer" : "refer to"} ${answerText(policy, answer)}`;

  function belief(policy, { probabilities, answer }) {
    const { classes } = policy;
    if (probabilities === null) return [answerNowText(policy, answer)];
    const ranked = probabilities.map((_, k) => k).sort((i, j) => probabilities[j] - probabilities[i]);
    const shares = probabilities.map(probabilityText), isLikeliest = shares[answer] === shares[ranked[0]];
    const labels = ranked.filter((k, place) => place < 2 || (k === answer && !isLikeliest));
    const texts = labels.map((k) => `${classText(policy, k)} ${shares[k]}`), last = texts.pop();
    if (answer === classes.length) return [`The model believes in ${texts.join(", ")} and ${last}; it would refer the case to ${answerText(policy, answer)} now.`];
    const reason = policy.words ? ", where the error is expected to be least" : ", because of the costs of errors";
    const why = isLikeliest ? "" : reason;
    return [`The model believes in ${texts.join(", ")} and ${last}; its answer now would be ${answerText(policy, answer)}${why}.`];
  }

  function decision(policy, step) {
    const { alternatives, action, stopCost, goOn } = step, stops = action < 0, lam = policy.rules.lam;
    if (alternatives.length === 0) return ["It stops because nothing more can be acquired."];
    const first = alternatives.find((a) => a.acquisition === action) || alternatives[0];
    const name = policy.acquisitions[first.acquisition].name, price = priceText(first.price);
    if (Number.isNaN(stopCost) || Number.isNaN(goOn)) {
      if (stops) return [`It prefers to stop; next it would acquire ${name} (${price}).`];
      return [`It prefers to acquire ${name} (${price}).`];
    }
    const worth = lam === 0 || lam === 1 || !first.price ? "" : `, worth ${general(lam * first.price, 3)}`;
    const stop = general(stopCost, 3), on = general(goOn, 3);
    if (stops) {
      return [
        `It stops because an answer now is expected to cost ${stop}, and acquiring ${name} (${price}${worth}) first ${on}.`,
      ];
    }
    if (goOn > stopCost) {
      return [
        `It acquires ${name} (${price}${worth}) because the answer is not certain enough yet, although an answer now is ` +
          `expected to cost ${stop}, and going on ${on}.`,
      ];
    }
    return [
      `It acquires ${name} (${price}${worth}) because the case is then expected to cost ${on}, prices included, and an ` +
        `answer now ${stop}.`,
    ];
  }

  function others(policy, { alternatives, action }) {
    const rest = alternatives.filter((a) => a.acquisition !== action);
    const shown = rest.slice(action < 0 ? 1 : 0).slice(0, RUNNERS_UP);
    if (shown.length === 0) return [];
    const texts = shown.map((a) => {
      const expected = Number.isNaN(a.expected) ? "" : `, expected cost ${general(a.expected, 3)}`;
      return `${policy.acquisitions[a.acquisition].name} (${priceText(a.price)}${expected})`;
    });
    return [`Next in its order ${texts.length === 1 ? "is" : "are"} ${texts.join(" and ")}.`];
  }

  // --- how certain an answer is

  // How certain the answer of a step is, and how certain it must be; "" for a policy without a rule.
  function certaintyText({ certainty, action }) {
    if (certainty === null) return "";
    const { enough, parts } = certainty, stops = action < 0, right = parts.filter((part) => part.kind === "error");
    const texts = parts.filter((part) => part.kind !== "error").map((part) =>
      part.isAnswer ? `no ${part.name} is missed, as this is the answer`
        : part.kind === "recall" ? compared(part.doubt, part.limit, `that no ${part.name} is missed`) : comparedCost(part));
    if (right.length) {
      const limit = Math.min(...right.map((part) => part.limit));
      texts.unshift(compared(right[0].doubt, limit, "that the answer is right"));
    }
    const head = enough ? "Certain enough" : stops ? "Not certain enough" : "Not certain enough yet";
    const last = texts.pop(), shown = texts.length ? `${texts.join(", ")} and ${last}` : last;
    const end = enough ? ", and the next question is worth its price" : ", but nothing is left that could change the answer";
    return `${head}: ${shown}${stops === enough ? "" : end}.`;
  }

  // 1 minus a doubt in per cent, with so many digits of the doubt.
  function percentBeside(doubt, digits) {
    if (doubt > 0 && doubt < SMALLEST_DOUBT) return `above ${general(100 - 100 * SMALLEST_DOUBT, 10)} %`;
    return `${general(100 - 100 * Number(general(Math.max(doubt, 0), digits)), 10)} %`;
  }

  function compared(doubt, limit, what) {
    if (limit < 0) return `${percentBeside(doubt, 2)} ${what} (no certainty is enough to stop early)`;
    let digits = 2;
    while (doubt > limit && digits < 8 && percentBeside(doubt, digits) === percentBeside(limit, digits)) digits++;
    const needed = limit >= 1 ? "any is enough" : `${percentBeside(limit, digits)} is needed`;
    return `${percentBeside(doubt, digits)} ${what} (${needed})`;
  }

  function comparedCost({ doubt, limit, low, high }) {
    const [cost, most] = [doubt, limit].map((share) => general(low + share * (high - low), 4));
    return `an expected error cost of ${cost} (${limit < 0 ? "no cost is low enough to stop early" : `at most ${most} is needed`})`;
  }

  // What is said where a person overrides the rule of a policy.
  const overrideText = ({ rule }) => `A person overrode the rule: ${rule.end}.`;

  // --- values

  // Whether the keys 1 to 9 choose among texts by their place: not where a digit could mean one of the texts.
  const digitsChoose = (texts) => !texts.some((text) => /^[-+.]?[0-9]/.test(text));

  // What the value of a column may be, in words.
  function allowedText({ kind, levels, unit, low, high }) {
    if (kind === "bool") return "yes or no";
    if (kind !== "number") return levels.length ? `one of ${listing(levels)}` : "a level";
    if (low === null || high === null) return unit ? `a number in ${unit}` : "a number";
    return `a number from ${general(low, 12)} to ${general(high, 12)}${unit ? ` ${unit}` : ""}`;
  }

  class Refusal extends Error {
    // `acceptable`: the value may be accepted as it is, and is then marked.
    constructor(message, acceptable = false) {
      super(message);
      this.acceptable = acceptable;
    }
  }

  // The value that a text means for a column, and what was accepted although it is not as in training ("" if nothing).
  // A Refusal has one sentence with what is allowed.
  function readValue(column, text, accept = false) {
    const typed = text.trim(), refused = `${quoted(column.name)} must be ${allowedText(column)}`;
    if (column.kind === "number") return readNumber(column, typed, accept, refused);
    if (column.kind === "bool") {
      const word = typed.toLowerCase();
      if (["yes", "y", "true", "1", "1.0"].includes(word)) return { value: true, remark: "" };
      if (["no", "n", "false", "0", "0.0"].includes(word)) return { value: false, remark: "" };
      throw new Refusal(`${refused}, got ${quoted(typed)}.`);
    }
    const level =
      column.levels.find((known) => known.trim() === typed) ??
      column.levels.find((known) => withoutDecimals(known) === withoutDecimals(typed));
    if (level !== undefined) return { value: level, remark: "" };
    if (accept) return { value: typed, remark: "a level that was not in training, counts as unknown" };
    throw new Refusal(`${refused}, got ${quoted(typed)}; correct it, or accept it as unknown.`, true);
  }

  // A text without outer spaces; a whole number also without decimals of zero, as 3 for 3.0.
  const withoutDecimals = (text) => text.trim().replace(/^(-?[0-9]+)\.0*$/, "$1");

  function readNumber(column, typed, accept, refused) {
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed)) throw new Refusal(`${refused}, got ${quoted(typed)}.`);
    const value = Number(typed), feature = Math.fround(value - column.offset);
    if (!Number.isFinite(feature)) {
      throw new Refusal(
        `${quoted(column.name)} must be a number that float32 can hold, got ${typed}; use a larger unit.`,
      );
    }
    if (column.low === null || column.high === null || isWithin(feature, column)) return { value, remark: "" };
    if (!accept) {
      throw new Refusal(`${refused}, the range in training, got ${typed}; correct it, or accept it as it is.`, true);
    }
    const range = `${general(column.low, 12)} to ${general(column.high, 12)}`;
    return { value, remark: `outside the range in training, ${range}` };
  }

  // Whether a feature is in the range of its column, up to one step of float32, in which the range was measured.
  function isWithin(feature, { low, high, offset }) {
    return nextFloat(Math.fround(low - offset), -1) <= feature && feature <= nextFloat(Math.fround(high - offset), 1);
  }

  // The float32 next to x, upwards (1) or downwards (-1).
  function nextFloat(x, direction) {
    if (x === 0) return direction * 2 ** -149;
    const number = Float32Array.of(x), bits = new Int32Array(number.buffer);
    bits[0] += x > 0 === direction > 0 ? 1 : -1;
    return number[0];
  }

  return {
    answerText, classText, general, listing, quoted, priceText, probabilityText, valueText, explain, unusedText, answerNowText, answering, certaintyText,
    overrideText, digitsChoose, allowedText, readValue, Refusal,
  };
})();

if (typeof module !== "undefined") module.exports = FsgymWords;
