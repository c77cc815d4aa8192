// The words of `fsgym ask`: prices, probabilities, why a question is asked, and what a value may be. A browser has the
// global FsgymWords, Node has module.exports. Texts are plain; whoever shows them escapes them.
"use strict";

const FsgymWords = (() => {
  // {sentences, currency, same_unit, target, fine}: the sentences of a language (fsgym/text/languages), and the speech.
  let speech = typeof module === "undefined" ? null : { sentences: require("../text/languages/en.json"), currency: "", same_unit: false, target: "", fine: false };
  const speak = (given) => (speech = given);

  // A sentence with its values.
  const said = (sentence, values = {}) => speech.sentences[sentence].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

  // What sessions and the pages of a server share; a test compares these with the constants of these names in Python.
  const FACTS = {
    BELIEFS_SHOWN: 8,
    ALTERNATIVES_SHOWN: 6,
    RUNNERS_UP: 2, // other acquisitions that are mentioned
    TIE: 1e-9, // of parts of a cost that differ by less than this share, that of the likelier class is named
    FACTORS: [10, 60, 100, 1000, 3600], // between two units
    MOST_FACTORS: 2, // that are said: where more fit, none is likely
    LEVELS_AS_BUTTONS: 10, // of a column that has no more; those of others are suggested as text
    NO_NOUN: "yes|no|true|false|y|n|ja|nein|none|some|any|all|nothing|keine?|alle|[-+.,\\d].*", // classes, in any case
  };
  const { ALTERNATIVES_SHOWN, RUNNERS_UP, TIE, FACTORS, MOST_FACTORS } = FACTS;
  const LISTED = 12; // values in a message
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

  // A number without the rounding of sums in another order, as in fsgym/text/speech.py.
  const same = (x) => (Number.isFinite(x) ? Number(x.toPrecision(12)) : x);

  // A price, cost or share with the decimal sign of the language; values of columns are written as they are read. A number
  // from 1e-9 to 1e15 has no exponent; all its digits before the decimal sign are written.
  function figure(given, digits) {
    const x = same(given), size = Math.abs(x), text = general(x, digits), power = text.split("e")[1];
    const isPlain = power === undefined || size < 1e-9 || size >= 1e15;
    const plain = isPlain ? text : size >= 1 ? fixed(x, 0) : trimmed(Number(text).toFixed(digits - 1 - Number(power)));
    return plain.replace(".", said("decimal"));
  }

  const moneyText = (x, digits = 4) => (speech.currency ? `${figure(x, digits)} ${speech.currency}` : figure(x, digits));
  const costText = (x, digits = 3) => (speech.same_unit ? moneyText(x, digits) : figure(x, digits));

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

  const priceText = (price) => (price ? said("price", { price: moneyText(price) }) : said("free"));

  // What prices an acquisition had in training, where prices are by case.
  function trainedPriceText({ price, low_price, high_price }) {
    const [mean, low, high] = [price, low_price, high_price].map((x) => moneyText(x));
    return said("price_in_training", { mean, low, high });
  }

  // That a price is outside those of the training; "" where it is not.
  function farPriceText({ name, low_price, high_price }, price) {
    if (!(price < low_price || price > high_price)) return "";
    const [given, low, high] = [price, low_price, high_price].map((x) => moneyText(x));
    return said("price_far", { name, price: given, low, high });
  }

  // The price that is typed, with a decimal point or that of the language; null where it is none, or may be two, as 1.007
  // where the language has a comma.
  function priceOf(typed) {
    if (said("decimal") === "," && /^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$/.test(typed)) return null;
    const text = typed.replace(said("decimal"), "."), price = Number(text);
    return plainNumber("\\.").test(text) && price >= 0 && Number.isFinite(price) ? price : null;
  }

  const currency = () => speech.currency;

  // A probability in whole per cent; where the speech is fine, one below 10 % or above 90 % has one digit more.
  function probabilityText(share) {
    const isFine = speech.fine && !(share >= 0.1 && share <= 0.9), least = isFine ? 0.001 : 0.01;
    if (share > 0 && share < least) return said("below_share", { share: `${figure(100 * least, 6)} %` });
    if (share > 1 - least && share < 1) return said("above_share", { share: `${figure(100 - 100 * least, 4)} %` });
    return `${fixed(same(100 * share), isFine && share > 0 && share < 1 ? 1 : 0).replace(".", said("decimal"))} %`;
  }

  // A class in a sentence in which it counts as a thing; one that is no noun in quotes, with the target if known.
  function className(text) {
    if (!new RegExp(`^(${FACTS.NO_NOUN})$`, "i").test(text)) return text;
    return speech.target ? `'${speech.target}: ${text}'` : `'${text}'`;
  }

  // From which probability on one of two classes is the answer, where errors differ in what they cost; "" otherwise.
  function cutoffText({ labels, classes, answers, errorCosts, words }, { probabilities }) {
    if (probabilities === null || words || classes.length !== 2 || answers.length !== 2) return "";
    const [[right, missed], [wrong, found]] = errorCosts, first = wrong - right, second = missed - found;
    if (first === second || Math.min(first, second) <= 0) return "";
    const share = `${figure((100 * Math.min(first, second)) / (first + second), 2)} %`;
    return said("chart_from", { answer: labels[Number(second > first)], share });
  }

  // The plain text of a number with the decimal sign of its column.
  const written = ({ decimal = "." }, text) => text.replace(".", decimal);

  function valueText(column, value) {
    const digits = Number.isSafeInteger(value) ? String(value) : general(value, 12);
    const text = typeof value === "boolean" ? said(value ? "yes" : "no") : typeof value === "number" ? written(column, digits) : value;
    return column.unit ? `${text} ${column.unit}` : text;
  }

  // --- why a question is asked

  // What a step rests on, in sentences.
  function explain(policy, step) {
    const reasons = [...belief(policy, step), ...costsOfErrors(policy, step), ...decision(policy, step)];
    return [...reasons, ...others(policy, step), unusedText(policy, step)].join(" ").trimEnd();
  }

  // Which known values have no effect yet.
  function unusedText(policy, { unused }) {
    const names = unused.map((k) => policy.columns[k].name).join(", ");
    return names ? said("unused", { names }) : "";
  }

  // Texts in a row, separated by semicolons where one has a comma of its own.
  const parted = (texts) => texts.join(texts.some((text) => text.includes(",")) ? "; " : ", ");

  // An answer, and a class, in words: those of the policy for a number and its range, otherwise the label.
  const answerText = ({ labels, words }, k) => words?.answers[k] ?? labels[k];
  const classText = ({ labels, words }, k) => words?.ranges[k] ?? labels[k];

  // Which acquisitions are free, where the question of acquisition j has a price; "" where none is.
  function freeTooText(policy, { alternatives, prices }, j) {
    const free = alternatives.filter((a) => a.price === 0 && a.acquisition !== j);
    const names = listing(free.map((a) => policy.acquisitions[a.acquisition].name), ALTERNATIVES_SHOWN);
    return prices[j] > 0 && names ? said("free_too", { names }) : "";
  }

  // Which acquisitions are free and were not asked where the case is answered, and why; "" where none is left.
  function freeLeftText(policy, { alternatives, stopCost }) {
    const named = new Map();
    for (const { acquisition, price, expected } of alternatives) {
      if (price !== 0) continue;
      const isKnown = !Number.isNaN(stopCost) && !Number.isNaN(expected);
      const sentence = !isKnown ? "free_not_estimated" : expected < stopCost ? "free_left" : "free_no_gain";
      named.set(sentence, [...(named.get(sentence) ?? []), policy.acquisitions[acquisition].name]);
    }
    return [...named].map(([sentence, names]) => said(sentence, { names: listing(names, ALTERNATIVES_SHOWN) })).join(" ");
  }

  // The belief in one class, of two in that which was less likely before the first question, of more in the likeliest; ""
  // for a policy without beliefs.
  function beliefText(policy, prior, shares) {
    if (shares === null) return "";
    const likeliest = shares.indexOf(Math.max(...shares)), k = shares.length === 2 ? Number(prior[1] <= prior[0]) : likeliest;
    return shareText(policy, k, shares[k]);
  }

  const shareText = (policy, k, share) => `${classText(policy, k)}${policy.words ? ":" : ""} ${probabilityText(share)}`;

  // What is said in place of beliefs by a policy that has none.
  function answerNowText(policy, answer) {
    return said(answer < policy.classes.length ? "answer_now" : "refer_now", { answer: answerText(policy, answer) });
  }

  // What is said above a question that the model does not ask.
  function wouldStopText(policy, answer) {
    return said(answer < policy.classes.length ? "would_stop" : "would_refer", { answer: answerText(policy, answer) });
  }

  // What a person stopped with where the policy would have asked its question: beliefs and expected costs then.
  function explainStop(policy, step) {
    const { action, answer, probabilities, stopCost, goOn, prices } = step;
    const asked = { answer: answerText(policy, answer), name: policy.acquisitions[action].name, price: priceText(prices[action]) };
    const texts = [said(answer < policy.classes.length ? "stopped_answer" : "stopped_referred", asked)];
    if (probabilities !== null) texts.push(said("believed", { shown: beliefs(policy, step).shown }), ...costsOfErrors(policy, step));
    const isKnown = !Number.isNaN(stopCost) && !Number.isNaN(goOn);
    if (isKnown) texts.push(said("stopped_costs", { stop: costText(stopCost), on: costText(goOn) }));
    return texts.join(" ");
  }

  function belief(policy, step) {
    const { answer } = step, label = answerText(policy, answer);
    if (step.probabilities === null) return [answerNowText(policy, answer)];
    const { shown, isLikeliest } = beliefs(policy, step);
    if (answer === policy.classes.length) return [said("believes_refers", { shown, answer: label })];
    const why = policy.words ? "believes_error" : "believes_costs";
    return [said(isLikeliest ? "believes" : why, { shown, answer: label })];
  }

  // The two likeliest classes, the answer and the class that makes it dear, with their probabilities; and whether the
  // answer is the likeliest.
  function beliefs(policy, step) {
    const { probabilities, answer } = step, order = ranked(probabilities), risk = largestRisk(policy, step);
    const shares = probabilities.map(probabilityText), isLikeliest = shares[answer] === shares[order[0]];
    const labels = order.filter((k, place) => place < 2 || (k === answer && !isLikeliest));
    const named = risk === null ? [] : answer === policy.classes.length ? [risk.best, risk.k] : [risk.k];
    for (const k of named) if (!labels.includes(k)) labels.push(k);
    const texts = labels.map((k) => shareText(policy, k, probabilities[k]));
    const last = texts.pop();
    return { shown: said("and", { first: parted(texts), last }), isLikeliest };
  }

  // The classes, the likeliest first.
  const ranked = (probabilities) => probabilities.map((_, k) => k).sort((i, j) => probabilities[j] - probabilities[i]);

  // What makes an answer dear: the answer (where the case is referred, the best class), its expected cost, and the class
  // with the largest part of that; null where no error costs anything, and for a number.
  function largestRisk(policy, { probabilities, answer }) {
    if (policy.words) return null;
    const { errorCosts } = policy, costs = errorCosts.map((row) => row.reduce((sum, cost, k) => sum + cost * probabilities[k], 0));
    const refers = answer >= policy.classes.length, best = refers ? costs.indexOf(Math.min(...costs)) : answer;
    const lowest = (k) => (refers ? policy.lowestCosts[k] : Math.min(...errorCosts.map((row) => row[k])));
    const regrets = errorCosts[best].map((cost, k) => cost - lowest(k));
    const parts = regrets.map((regret, k) => regret * probabilities[k]), most = Math.max(...parts);
    if (most <= 0) return null;
    return { best, cost: costs[best], k: ranked(probabilities).find((k) => parts[k] >= (1 - TIE) * most) };
  }

  // From which probability on an answer is given, and the class that makes an answer dear, or a case be referred.
  function costsOfErrors(policy, step) {
    const { probabilities, answer } = step;
    if (probabilities === null) return [];
    const cutoff = cutoffText(policy, step), risk = largestRisk(policy, step), texts = cutoff ? [cutoff] : [];
    if (risk === null) return texts;
    const names = { answer: answerText(policy, risk.best), name: className(policy.labels[risk.k]) };
    if (answer === policy.classes.length) {
      const costs = { refer: costText(policy.answerCosts[answer][0]), cost: costText(risk.cost) };
      return [...texts, said("refers_for", { ...names, ...costs })];
    }
    return ranked(probabilities).slice(0, 2).includes(risk.k) ? texts : [...texts, said("costs_for", names)];
  }

  // The unit of the costs that are shown, or that those with a currency are no bill; "" where there are none.
  function costUnitText({ classes, answers, errorCosts }, { stopCost, probabilities, alternatives }) {
    const isUnknown = alternatives.length > 0 && alternatives.every(({ expected }) => Number.isNaN(expected));
    if (Number.isNaN(stopCost) || isUnknown) return "";
    if (speech.currency && speech.same_unit) return said("unit_money");
    const isOne = errorCosts.every((costs, a) => costs.every((cost, y) => cost === (a === y ? 0 : 1)));
    return said(isOne && answers.length === classes.length && probabilities !== null ? "unit_wrong" : "unit_costs");
  }

  function decision(policy, step) {
    const { alternatives, action, stopCost, goOn } = step, stops = action < 0, lam = policy.rules.lam;
    if (stops && step.certainty !== null && step.certainty.refers && !step.certainty.enough) return [said("refers_uncertain")];
    if (alternatives.length === 0) return [said("stops_done")];
    const first = alternatives.find((a) => a.acquisition === action) || alternatives[0];
    const { name } = policy.acquisitions[first.acquisition];
    const estimates = alternatives.map(({ expected }) => expected).filter((cost) => !Number.isNaN(cost));
    if (!stops && first.price === 0 && !(goOn <= Math.min(...estimates))) return [said("costs_nothing", { name })];
    let price = priceText(first.price);
    if (Number.isNaN(stopCost) || Number.isNaN(goOn)) {
      return [said(stops ? "prefers_stop" : "prefers", { name, price })];
    }
    if (lam !== 0 && lam !== 1 && first.price) price = said("worth", { price, worth: costText(lam * first.price) });
    const sentence = stops ? "stops_because" : goOn > stopCost ? "goes_on_uncertain" : "goes_on";
    return [said(sentence, { name, price, stop: costText(stopCost), on: costText(goOn) })];
  }

  function others(policy, { alternatives, action }) {
    const rest = alternatives.filter((a) => a.acquisition !== action);
    const shown = rest.slice(action < 0 ? 1 : 0).slice(0, RUNNERS_UP);
    if (shown.length === 0) return [];
    const texts = shown.map((a) => {
      const price = priceText(a.price), isKnown = !Number.isNaN(a.expected);
      const text = isKnown ? said("with_expected", { price, cost: costText(a.expected) }) : price;
      return `${policy.acquisitions[a.acquisition].name} (${text})`;
    });
    if (texts.length === 1) return [said("next_one", { names: texts[0] })];
    return [said("next_several", { names: said("and", { first: texts[0], last: texts[1] }) })];
  }

  // --- how certain an answer is

  // How certain the answer of a step is, and how certain it must be; "" for a policy without a rule.
  function certaintyText({ rule }, { certainty, action, lacks }) {
    if (certainty === null) return "";
    const { enough, parts, refers } = certainty, stops = action < 0, right = parts.filter((part) => part.kind === "error");
    const texts = parts.filter((part) => part.kind !== "error").map((part) =>
      part.isAnswer ? said("none_missed", { name: className(part.name) })
        : part.kind === "recall" ? compared(part.doubt, part.limit, said("that_none_missed", { name: className(part.name) }))
        : comparedCost(part));
    if (right.length) {
      const limit = Math.min(...right.map((part) => part.limit));
      texts.unshift(compared(right[0].doubt, limit, said("that_right")));
    }
    if (texts.length === 0) texts.push(said(refers ? "none_needed_refers" : "none_needed"));
    const met = stops ? "certain_enough" : rule.promises ? "promise_met" : "rule_met";
    const head = said(enough ? met : stops ? "not_certain" : "not_certain_yet");
    const last = texts.pop(), shown = texts.length ? said("and", { first: texts.join(", "), last }) : last;
    const end = stops === enough ? "" : said(enough ? "worth_its_price" : "nothing_changes");
    const unlike = rule.promises && lacks ? ` ${said("promise_unlike")}` : "";
    return `${head}: ${shown}${end}${refers && !enough ? said("so_referred") : ""}.${unlike}`;
  }

  // 1 minus a doubt in per cent, with so many digits of the doubt.
  function percentBeside(doubt, digits) {
    if (doubt > 0 && doubt < SMALLEST_DOUBT) return said("above_share", { share: `${figure(100 - 100 * SMALLEST_DOUBT, 10)} %` });
    return `${figure(100 - 100 * Number(general(Math.max(doubt, 0), digits)), 10)} %`;
  }

  function compared(doubt, limit, what) {
    if (limit < 0) return said("compared", { share: percentBeside(doubt, 2), what, needed: said("no_certainty") });
    let digits = 2;
    while (doubt > limit && digits < 8 && percentBeside(doubt, digits) === percentBeside(limit, digits)) digits++;
    const needed = limit >= 1 ? said("any_enough") : said("needed", { share: percentBeside(limit, digits) });
    return said("compared", { share: percentBeside(doubt, digits), what, needed });
  }

  function comparedCost({ doubt, limit, low, high }) {
    const [cost, most] = [doubt, limit].map((share) => costText(low + share * (high - low), 4));
    return said("expected_error_cost", { cost, needed: limit < 0 ? said("no_cost_low") : said("at_most_needed", { most }) });
  }

  // What it means for the promise of a policy if a person stops now; "" where it has no rule, or would stop too.
  function stopEndsText({ rule }, { action, certainty }) {
    if (rule === null || action < 0) return "";
    if (certainty.enough) return said(rule.promises ? "stop_chosen_promise" : "stop_chosen_rule");
    return said(rule.promises ? "stop_ends_promise" : "stop_ends_rule");
  }

  // What another acquisition than the policy's means for its promise; "" where it has no rule.
  const otherEndsText = ({ rule }) => (rule === null ? "" : said(rule.promises ? "other_ends_promise" : "other_ends_rule"));

  // What is said where a person overrides the rule of a policy.
  function overrideText({ rule }) {
    const text = said("overrode", rule);
    return `${text[0].toUpperCase()}${text.slice(1)}.`;
  }

  // --- values

  // Whether the keys 1 to 9 choose among texts by their place: not where a digit could mean one of the texts.
  const digitsChoose = (texts) => !texts.some((text) => /^[-+.]?[0-9]/.test(text));

  // The keyboard of a phone for a column: one for numbers has no minus sign everywhere, and no sign but the decimal one.
  function keyboard({ kind, low = null, decimal, thousands, censored }) {
    return kind === "number" && low !== null && low >= 0 && !decimal && !thousands && !censored ? "decimal" : "text";
  }

  // What the value of a column may be, in words.
  function allowedText(column) {
    const { kind, levels, unit, low, high } = column;
    if (kind === "bool") return said("allowed_yes_no");
    if (kind !== "number") return levels.length ? said("allowed_levels", { levels: listing(levels) }) : said("allowed_level");
    if (low === null || high === null) return unit ? said("allowed_number_in", { unit }) : said("allowed_number");
    const [from, to] = [low, high].map((bound) => written(column, general(bound, 12)));
    return said("allowed_range", { low: from, high: `${to}${unit ? ` ${unit}` : ""}` });
  }

  // What may be typed for a column: that, and how numbers are written where that is not with a point.
  function typingText(column, typed = "") {
    const { decimal = ".", thousands = "" } = column, allowed = allowedText(column);
    if (column.kind !== "number" || (decimal === "." && !thousands && !typed.includes(","))) return allowed;
    const separated = thousands === " " ? said("thousands_spaces") : thousands ? said("thousands_sign", { thousands }) : "";
    return said(decimal === "," ? "typing_comma" : "typing_point", { allowed, separated });
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
    const typed = text.trim();
    const refused = said("value_refused", { name: quoted(column.name), allowed: typingText(column, typed), got: quoted(typed) });
    if (column.kind === "number") return readNumber(column, typed, accept, refused);
    if (column.kind === "bool") {
      const word = typed.toLowerCase();
      if (["yes", "y", "true", "1", "1.0"].includes(word)) return { value: true, remark: "" };
      if (["no", "n", "false", "0", "0.0"].includes(word)) return { value: false, remark: "" };
      throw new Refusal(`${refused}.`);
    }
    const level = levelOf(column.levels, text) ?? levelOf(column.levels, typed) ?? levelOf(column.levels, withoutDecimals(typed));
    if (level !== undefined) return { value: level, remark: "" };
    if (accept) return { value: typed, remark: said("remark_level") };
    throw new Refusal(`${said("value_level", { refused })}.`, true);
  }

  // The level with this spelling: its own, or as it is without outer spaces, or without decimals of zero.
  const levelOf = (levels, text) =>
    levels.find((level) => level === text) ?? levels.find((level) => level.trim() === text) ??
    levels.find((level) => withoutDecimals(level) === text);

  // A text without outer spaces; a whole number also without decimals of zero, as 3 for 3.0.
  const withoutDecimals = (text) => text.trim().replace(/^(-?[0-9]+)\.0*$/, "$1");

  // Currencies that tables are read with, as in fsgym/data/written.py; "%" stands only behind a number.
  const CURRENCY = /^([$€£¥₹]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|zł|kr)$/;

  // A number without thousands separators, with this decimal sign.
  const plainNumber = (sign) => new RegExp(`^[+-]?([0-9]+(${sign}[0-9]*)?|${sign}[0-9]+)(e[+-]?[0-9]+)?$`, "i");

  // The plain text of a number that is written as in the table of the model: its decimal sign and thousands separators,
  // per cent or currency as the unit, and limits as <1,5; null where the text is no number, or may be two, as 1.007.
  function plainText(column, typed) {
    const { decimal = ".", thousands = "", censored = "", unit } = column;
    const isCurrency = CURRENCY.test(unit), isMark = isCurrency || unit === "%";
    if (decimal === "." && !thousands && !censored && !isMark) return typed;
    const limit = (typed.match(/^(<=|>=|[<>≤≥])\s*/) || [""])[0];
    let number = typed.slice(limit.length);
    if (isCurrency && number.startsWith(unit)) number = number.slice(unit.length).trimStart();
    else if (isMark && number.endsWith(unit)) number = number.slice(0, -unit.length).trimEnd();
    if (limit && !["limit", "half"].includes(censored)) return null;
    const sign = decimal === "," ? "," : "\\.", group = { ",": ",", ".": "\\.", "'": "['’]", " ": "[ \u00a0\u202f]" }[thousands];
    let plain = null;
    if (plainNumber(sign).test(number)) plain = number;
    else if (group && new RegExp(`^[+-]?[1-9][0-9]{0,2}(${group}[0-9]{3})+(${sign}[0-9]*)?$`).test(number)) {
      plain = number.replace(new RegExp(group, "g"), "");
    }
    if (plain === null) return null;
    plain = plain.replace(",", ".");
    const isHalved = censored === "half" && /^[<≤]/.test(limit) && Number(plain) > 0;
    return isHalved ? String(Number(plain) / 2) : plain;
  }

  function readNumber(column, text, accept, refused) {
    const typed = plainText(column, text);
    if (typed === null) throw new Refusal(`${refused}.`);
    if (!plainNumber("\\.").test(typed)) throw new Refusal(`${refused}.`);
    const value = Number(typed), feature = Math.fround(value - column.offset);
    if (!Number.isFinite(feature)) {
      throw new Refusal(`${said("value_float32", { name: quoted(column.name), got: written(column, typed) })}.`);
    }
    if (column.low === null || column.high === null || isWithin(feature, column)) return { value, remark: "" };
    const hint = factorHint(value, column);
    if (!accept) {
      const got = `${written(column, typed)}${hint}`;
      const sentence = said("value_range", { name: quoted(column.name), allowed: allowedText(column), got });
      throw new Refusal(`${sentence}.`, true);
    }
    const [low, high] = [column.low, column.high].map((bound) => written(column, general(bound, 12)));
    return { value, remark: `${said("remark_range", { low, high })}${hint}` };
  }

  // By which factor between two units a value outside the range would be in it; "" if by none, or by many. A value that
  // half of the factor, its square root, would bring there is near the range, and no mistake of units.
  function factorHint(value, column) {
    const fits = (v) => v !== 0 && isWithin(Math.fround(v - column.offset), column);
    const found = FACTORS.flatMap((factor) => [
      ...(fits(value * factor) ? [[said("factor_times", { factor }), value * Math.sqrt(factor)]] : []),
      ...(fits(value / factor) ? [[said("factor_divided", { factor }), value / Math.sqrt(factor)]] : []),
    ]);
    const named = found.filter(([, half]) => !fits(half)).map(([text]) => text);
    return named.length && found.length <= MOST_FACTORS ? said("factor_hint", { factors: named.join(said("factor_or")) }) : "";
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
    speak, said, currency, freeTooText, freeLeftText, beliefText, trainedPriceText, farPriceText, priceOf, answerText, classText, quoted, figure, moneyText, costText, priceText, probabilityText, className, cutoffText,
    valueText, explain, explainStop, costUnitText, unusedText, answerNowText, wouldStopText, certaintyText, stopEndsText, otherEndsText, overrideText, FACTS, digitsChoose,
    keyboard, typingText, readValue, Refusal,
  };
})();

if (typeof module !== "undefined") module.exports = FsgymWords;
