// Policies of the formats fsgym-policy-1 and -2 (docs/policy-format.md), asked one case at a time. No dependencies; a browser
// has the global FsgymPolicy, Node has module.exports. Acquisitions and features are places in the order of the policy;
// an acquisition of -1 is none. Numbers are float64, rounded with Math.fround where the policy computes in float32.
"use strict";

const FsgymPolicy = (() => {
  const FORMAT = "fsgym-policy-2", FORMATS = ["fsgym-policy-1", FORMAT];
  const round32 = Math.fround;
  const TIE = 1e-12; // costs that differ by less count as equal

  // --- arrays

  const KINDS_OF_ARRAYS = { float64: Float64Array, float32: Float32Array, int32: Int32Array, int16: Int16Array, uint8: Uint8Array };

  // A policy may come from a stranger. These facts bound the work: the shapes are those of the bytes, parts of arrays
  // do not descend (checkStarts), moves lead to larger subsets and nodes to later ones (Lattice), and a replay ends.
  const MOST_EMPTY = 2 ** 20; // cells that the shape of an empty array may have beside its zeros
  const MOST_POLICIES = 9; // at eight lists of prices, and at all others

  function mustHold(holds, what) {
    if (!holds) throw new Error(`the policy is damaged: ${what}`);
  }

  function checkShape(shape, length) {
    mustHold(shape.every((n) => Number.isInteger(n) && n >= 0), "a shape is not made of whole numbers");
    const product = (sizes) => sizes.reduce((total, n) => total * n, 1);
    const fits = length > 0 ? product(shape) === length : shape.includes(0) && product(shape.filter(Boolean)) <= MOST_EMPTY;
    mustHold(fits, "a shape does not fit its array");
  }

  // The arrays that say where parts of others begin rise from 0, and end within some array.
  function checkStarts(arrays) {
    const longest = Math.max(...Object.values(arrays).map((array) => array.length));
    for (const [name, first] of Object.entries(arrays)) {
      if (!/_first$|first_|entry_start$/.test(name)) continue;
      const rises = first.every((x, k) => Number.isInteger(x) && x >= (k ? first[k - 1] : 0));
      mustHold(rises && first[first.length - 1] <= longest, `${name} does not rise within an array`);
    }
  }

  function decodeArray({ dtype, shape, base64 }) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
    const array = new KINDS_OF_ARRAYS[dtype](bytes.buffer); // little-endian, as all present machines are
    checkShape(shape, array.length);
    array.shape = shape;
    return array;
  }

  const range = (first, last) => Array.from({ length: last - first }, (_, k) => first + k);
  const clip = (x, low, high) => Math.min(Math.max(x, low), high);
  const sum = (values) => values.reduce((total, x) => total + x, 0);
  const dot = (a, b) => a.reduce((total, x, k) => total + x * b[k], 0);
  const argmax = (values) => values.reduce((best, x, k) => (x > values[best] ? k : best), 0);
  const argmin = (values) => values.reduce((best, x, k) => (x < values[best] ? k : best), 0);
  const xLogX = (x) => (x > 0 ? x * Math.log(x) : 0);
  const entropyOf = (shares) => -sum(Array.from(shares, xLogX));

  function softmax(scores) {
    const top = Math.max(...scores);
    const shares = Array.from(scores, (s) => Math.exp(s - top));
    const total = sum(shares);
    return shares.map((s) => s / total);
  }

  const limitOf = (budgetCost) => (budgetCost === null ? Infinity : budgetCost * (1 + 1e-9));

  // --- the rule of a calibrated model: it stops only where its answer is certain enough

  const KINDS_OF_RISKS = ["error", "recall", "cost"];

  class CertainRule {
    constructor({ limit, min_confidence, risks, promises, end, sentences }, errorCosts) {
      Object.assign(this, { limit: limit ?? -1, least: min_confidence, risks, promises: Boolean(promises), end, sentences, errorCosts });
      const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
      mustHold(isNumber(this.limit) && (min_confidence === null || isNumber(min_confidence)), "a threshold of its rule is no number");
      for (const { kind, limit: most, low, high, label } of risks) {
        mustHold(KINDS_OF_RISKS.includes(kind), `its rule has a risk of the unknown kind ${kind}`);
        mustHold([most, low, high, label].every(isNumber) && most > 0 && low < high, "a risk of its rule has no limit");
        mustHold(kind !== "recall" || label in errorCosts, "a risk of its rule is of no class");
      }
      this.strictest = Math.min(...risks.map((risk) => risk.limit));
    }

    // The expected loss of an answer, 1 minus how certain it is.
    doubt({ kind, label, low, high }, answer, shares) {
      if (kind === "recall") return answer === label ? 0 : clip(shares[label], 0, 1);
      if (kind === "error") return clip(1 - shares[answer], 0, 1);
      return clip((dot(shares, this.errorCosts[answer]) - low) / (high - low), 0, 1);
    }

    // Whether a stop with this answer counts; one that refers the case does.
    isCertain(answer, shares) {
      if (answer === shares.length) return true;
      if (this.least !== null && !(shares[answer] >= this.least)) return false;
      return this.risks.every((risk) => this.doubt(risk, answer, shares) * (this.strictest / risk.limit) <= this.limit);
    }

    // Whether that is so, and each doubt beside the largest one at which a stop counts, -1 where none does; `refers`: the
    // case is referred, as this answer is not certain enough, or with no doubt by the policy itself.
    certainty(answer, shares, refers) {
      if (answer === shares.length) return { enough: true, parts: [], refers };
      const parts = this.risks.map((risk) => {
        const limit = this.limit < 0 ? -1 : Math.min((this.limit * risk.limit) / this.strictest, 1);
        return { ...risk, doubt: this.doubt(risk, answer, shares), limit, isAnswer: risk.kind === "recall" && risk.label === answer };
      });
      if (this.least !== null) parts.unshift({ kind: "error", doubt: 1 - shares[answer], limit: 1 - this.least });
      return { enough: this.isCertain(answer, shares), parts, refers };
    }
  }

  const KINDS_OF_RULES = { certain: CertainRule };

  // --- what all policies share: names, rules, and what is known of an acquisition

  class Policy {
    constructor(plain) {
      Object.assign(this, {
        digest: plain.digest, kind: plain.kind, classes: plain.classes, words: plain.words ?? null, columns: plain.columns,
        acquisitions: plain.acquisitions, userOrder: plain.user_order, rules: plain.rules, parameters: plain.parameters,
      });
      this.groups = this.acquisitions.map((a) => a.features);
      this.nFeatures = sum(this.groups.map((group) => group.length));
      this.errorCosts = plain.rules.error_costs;
      // with `refer_cost`, the last answer refers the case to a person, at this cost whatever the class is
      const { refer_cost, refer_label } = plain.rules, refers = refer_cost !== undefined;
      if (refers) mustHold(refer_cost >= 0 && Number.isFinite(refer_cost) && typeof refer_label === "string", "refer_cost is no price");
      this.answerCosts = refers ? [...this.errorCosts, this.classes.map(() => refer_cost)] : this.errorCosts;
      this.answers = refers ? [...this.classes, refer_label] : this.classes;
      const { labels = plain.classes } = plain; // the texts of labels that JavaScript writes in another way, as 1.0
      mustHold(Array.isArray(labels) && labels.length === this.classes.length, "its labels are not those of its classes");
      this.labels = [...labels, ...(refers ? [refer_label] : [])].map(String);
      this.lowestCosts = this.classes.map((_, k) => Math.min(...this.answerCosts.map((row) => row[k])));
      this.lowestCost = Math.min(...this.lowestCosts);
      const { always_known = [] } = plain.rules, { length } = this.acquisitions;
      const arePlaces = Array.isArray(always_known) && always_known.every((j) => Number.isInteger(j) && j >= 0 && j < length);
      mustHold(arePlaces, "what is always known are no places of acquisitions");
      this.alwaysKnown = new Set(always_known);
      this.rule = plain.rule === undefined ? null : new KINDS_OF_RULES[plain.rule.kind](plain.rule, this.errorCosts);
      this.arrays = Object.fromEntries(Object.entries(plain.arrays).map(([name, a]) => [name, decodeArray(a)]));
      checkStarts(this.arrays);
      const columnOf = new Map(this.columns.flatMap((column, k) => column.features.map((i) => [i, k])));
      this.columnsOf = this.groups.map((group) => [...new Set(group.map((i) => columnOf.get(i)))].sort((a, b) => a - b));
    }

    // Whether acquisition j counts for `budget`: those that are always known do not.
    counts(j) {
      return !this.alwaysKnown.has(j);
    }

    // Which acquisitions are legal after those `taken`, apart from `budget`, and the prices of all.
    legalAndPrices(taken, spent) {
      const { relational, relation, empty_is_related, forbid_unrelated, budget_cost } = this.rules;
      const n = taken.filter(Boolean).length;
      const limit = limitOf(budget_cost);
      const prices = [];
      const legal = this.acquisitions.map((a, j) => {
        const touching = a.related.filter((k) => taken[k]).length;
        const related = n === 0 ? empty_is_related : relation === "all" ? touching === n : touching > 0;
        prices.push(relational && !related ? a.unrelated_price : a.price);
        if (relational && forbid_unrelated && n > 0 && !related) return false;
        return !taken[j] && spent + prices[j] <= limit && a.needs.every((k) => taken[k]);
      });
      return { legal, prices };
    }

    // The acquisitions that need not be paid any more.
    known(acquired, legal) {
      return this.groups.map((group, j) => {
        const n = group.filter((i) => acquired[i]).length;
        return n === group.length || (n > 0 && !legal[j]);
      });
    }

    // `advise`, by the rule of a calibrated model: where it is not certain enough, it goes on in its order, and refers the
    // case where nothing is left and it may. `byClass` is then the answer that is not certain enough.
    advised(acquired, values, legal) {
      const advice = this.advise(acquired, values, legal);
      if (this.rule === null) return advice;
      mustHold(advice.probabilities !== null, "its rule needs class probabilities");
      advice.byClass = advice.answer;
      if (advice.action >= 0 || this.rule.isCertain(advice.answer, advice.probabilities)) return advice;
      if (this.canChange(acquired, legal, advice)) {
        advice.action = advice.beyond;
      } else if (this.answers.length > this.classes.length) {
        advice.answer = this.classes.length;
        advice.stopCost = dot(this.answerCosts[advice.answer], advice.probabilities);
      }
      return advice;
    }

    // Whether going on after a stop can change the answer; a subclass may exclude more.
    canChange(acquired, legal, advice) {
      return advice.beyond >= 0;
    }

    // What going on with an acquisition of this price costs at least, and at most.
    leastCost(price, shares = null) {
      return this.rules.lam * price + (shares === null ? this.lowestCost : dot(this.lowestCosts, shares));
    }

    mostCost() {
      const prices = this.acquisitions.map((a) => Math.max(a.price, a.unrelated_price));
      return this.rules.lam * sum(prices) + Math.max(...this.answerCosts.flat().map(Math.abs));
    }

    costsOfAnswers(shares) {
      return this.answerCosts.map((costs) => dot(costs, shares));
    }

    advice(action, beyond, answer, preference, probabilities = null) {
      const expected = new Array(this.groups.length).fill(NaN); // NaN: there is no estimate
      const stopCost = probabilities === null ? NaN : dot(this.answerCosts[answer], probabilities);
      return { action, beyond, answer, preference, expected, stopCost, probabilities, uses: () => true };
    }
  }

  // --- lattice: at each held subset v of the acquisitions a classifier and a decision

  const ALWAYS = 1, ADAPTIVE = 2; // modes of a subset; 0 is to answer

  class Lattice extends Policy {
    constructor(plain) {
      super(plain);
      this.p = Object.fromEntries(Object.entries(this.arrays).map(([name, a]) => [name.split(".").pop(), a]));
      const { feature_first, node_child } = this.p, size = (v) => feature_first[v + 1] - feature_first[v];
      for (const [name, first] of [["child", "child_first"], ["backup_child", "backup_first"]]) {
        range(0, this.p.mode.length).forEach((v) => {
          const larger = this.p[name].subarray(this.p[first][v], this.p[first][v + 1]).every((child) => size(child) > size(v));
          mustHold(larger, "a move does not lead to a larger subset");
        });
      }
      mustHold(node_child.every((child, node) => child < 0 || child > node), "a node does not lead to a later one");
      const isWhole = this.rule === null || (this.p.taken || []).length === this.p.mode.length * this.groups.length;
      mustHold(isWhole, "its subsets are not those of its acquisitions");
    }

    // Only where a held subset is in reach at which answers cost less; what lacks a prerequisite can still come.
    canChange(acquired, legal, advice) {
      const n = this.groups.length, { taken, answer_cost } = this.p;
      const isKnown = this.groups.map((group) => group.some((i) => acquired[i]));
      const obtainable = this.acquisitions.map(
        (a, j) => isKnown[j] || legal[j] || this.rules.forbid_unrelated || a.needs.some((k) => !isKnown[k]),
      );
      const inReach = (v) => obtainable.every((can, j) => can || !taken[v * n + j]);
      const isBetter = (cost, v) => cost < answer_cost[advice.place] - TIE && inReach(v);
      return advice.beyond >= 0 && answer_cost.some(isBetter);
    }

    part(name, v) {
      const first = this.p[name + "_first"];
      return this.p[name].subarray(first[v], first[v + 1]);
    }

    // The acquisitions of the moves from subset v, or the subsets that they lead to.
    moves(name, v) {
      const first = name.startsWith("backup") ? this.p.backup_first : this.p.child_first;
      return this.p[name].subarray(first[v], first[v + 1]);
    }

    advise(acquired, values, legal) {
      const s = this.stateOf(acquired, values, legal), n = this.groups.length, p = this.p;
      const [action, v, own] = this.nextAcquisition(s);
      const beyond = action >= 0 ? action : this.acquisitionBeyond(s, v);
      const w = own ? v : this.bestContained(s, v, p.answer_cost);
      const shares = this.probabilities(s, w), costs = this.costsOfAnswers(shares);
      let answer = 0, stopCost = Infinity;
      costs.forEach((cost, a) => {
        if (cost < stopCost - TIE) [answer, stopCost] = [a, cost];
      });
      const rank = new Array(n);
      p.order.forEach((j, k) => (rank[j] = 2 * n + k));
      this.moves("backup_acquisition", v).forEach((j, m) => (rank[j] = n + m));
      this.moves("acquisition", v).forEach((j, m) => (rank[j] = m));
      const advice = this.advice(action, beyond, answer, null, shares);
      advice.place = w;
      advice.uses = (i) => this.part("feature", w).includes(i);
      if (w === v) this.writeExpected(s, v, action, costs[answer], shares, advice.expected);
      const cost = advice.expected.map((x) => (Number.isNaN(x) ? Infinity : x));
      const order = range(0, n).sort((i, j) => (cost[i] === cost[j] ? rank[i] - rank[j] : cost[i] - cost[j]));
      advice.preference = new Array(n);
      order.forEach((j, place) => (advice.preference[j] = -place));
      return advice;
    }

    // Known and usable acquisitions, and the columns and bins of the known values; missing ones count as the mean.
    stateOf(acquired, values, legal) {
      const p = this.p, known = this.known(acquired, legal), shown = new Array(this.nFeatures).fill(false);
      const nThresholds = p.thresholds.shape[1], z = new Float64Array(4 * this.nFeatures), code = [];
      this.groups.forEach((group, j) => known[j] && group.forEach((i) => (shown[i] = true)));
      for (let i = 0; i < this.nFeatures; i++) {
        const has = shown[i] && acquired[i], x = has ? values[i] : p.mean[i];
        const score = has ? (x - p.mean[i]) * p.inverse_std[i] : 0;
        for (let h = 0; h < 4; h++) {
          const column = h === 0 ? score : Math.max(score - p.knots[4 * i + h], 0);
          z[4 * i + h] = clip((column - p.column_mean[4 * i + h]) * p.inverse_column_std[4 * i + h], -6, 6);
        }
        let bin = 0;
        while (bin < nThresholds && p.thresholds[i * nThresholds + bin] < x) bin++;
        code.push(bin);
      }
      return { known, legal, usable: known.map((k, j) => k || legal[j]), shown, z, code };
    }

    writeExpected(s, v, action, stopCost, shares, expected) {
      const moves = this.moves("acquisition", v), design = this.design(s, v, shares);
      let wantsOther = false;
      this.advantages("theta", v, design).forEach((advantage, m) => {
        expected[moves[m]] = stopCost + advantage;
        wantsOther = wantsOther || (this.p.mode[v] === ADAPTIVE && !s.usable[moves[m]] && advantage < 0);
      });
      if (!moves.includes(action) && (action >= 0 || wantsOther)) {
        const backups = this.moves("backup_acquisition", v);
        this.advantages("backup_theta", v, design).forEach((a, m) => (expected[backups[m]] = stopCost + a));
      }
      if (this.part("feature", v).length === 0) {
        // nothing is known there: the means of training hold
        const children = this.moves("child", v), { prices } = this.legalAndPrices(this.groups.map(() => false), 0);
        moves.forEach((j, m) => {
          expected[j] = this.rules.lam * prices[j] + this.p.start_value[children[m]];
        });
      }
      if (expected[action] > stopCost) expected[action] = NaN; // all cases go on there, whatever is estimated for this one
    }

    // The acquisition (-1 to answer), the subset at which it is made, whether the policy itself can get there.
    nextAcquisition(s) {
      const base = Array.from(this.p.base);
      let root = 0, nBase = 0;
      if (base.length && base.every((j) => s.usable[j])) {
        const open = base.find((j) => !s.known[j]);
        if (open !== undefined) return [open, 0, true];
        [root, nBase] = [this.p.base_place[0], base.length];
      }
      const [j, v, nFree] = this.replay(s, root);
      if (nBase + nFree === s.known.filter(Boolean).length) return [j, v, true];
      const loss = Array.from(this.p.start_value, (value, u) => {
        if (this.isBlocked(s, u)) return this.p.answer_cost[u];
        let saved = 0;
        for (let k = this.p.saving_first[u]; k < this.p.saving_first[u + 1]; k++) {
          if (s.known[this.p.saving_acquisition[k]]) saved += this.p.saving[k];
        }
        return value - saved;
      });
      const start = this.bestContained(s, root, loss);
      return [...(start === root ? [j, v] : this.replay(s, start)).slice(0, 2), false];
    }

    // Whether the policy goes on from subset v, and no acquisition that it may make there can be obtained.
    isBlocked(s, v) {
      const moves = this.moves("acquisition", v), backups = this.moves("backup_acquisition", v);
      return this.p.mode[v] !== 0 && moves.length > 0 && ![...moves, ...backups].some((j) => s.usable[j]);
    }

    // The subset of known acquisitions of lowest loss; `best` among equal ones.
    bestContained(s, best, loss) {
      loss.forEach((value, v) => {
        if (value < loss[best] - TIE && this.part("feature", v).every((i) => s.shown[i])) best = v;
      });
      return best;
    }

    // Move on from subset v at no cost while the next acquisition is known.
    replay(s, v) {
      for (let nFree = 0; ; nFree++) {
        const [j, child] = this.choose(s, v);
        if (j < 0 || !s.known[j]) return [j, v, nFree];
        v = child;
      }
    }

    // The acquisition to make at subset v and the subset with it; [-1, v] to answer.
    choose(s, v) {
      const moves = this.moves("acquisition", v), children = this.moves("child", v), mode = this.p.mode[v];
      if (mode === 0 || moves.length === 0) return [-1, v];
      if (mode === ALWAYS) {
        if (s.usable[moves[0]]) return [moves[0], children[0]];
      } else {
        const advantages = this.advantages("theta", v, this.design(s, v, this.probabilities(s, v)));
        const [best, legal] = [() => true, (m) => s.usable[moves[m]]].map((may) => lowestBelow0(advantages, may));
        if (best === legal || this.moves("backup_child", v).length === 0) {
          return legal < 0 ? [-1, v] : [moves[legal], children[legal]];
        }
      }
      return this.chooseBackup(s, v);
    }

    // As `choose`, where the acquisition that the policy prefers cannot be obtained.
    chooseBackup(s, v) {
      const moves = this.moves("backup_acquisition", v);
      if (moves.length === 0) return [-1, v];
      const advantages = this.advantages("backup_theta", v, this.design(s, v, this.probabilities(s, v)));
      const n = advantages.length, can = (m) => s.usable[moves[m]];
      const best = range(0, n).some(can) ? lowestBelow0(advantages, can) : range(n, moves.length).find(can) ?? -1;
      return best < 0 ? [-1, v] : [moves[best], this.moves("backup_child", v)[best]];
    }

    // The acquisition if the case goes on after the answer at subset v; -1 if none is legal.
    acquisitionBeyond(s, v) {
      const moves = this.moves("acquisition", v);
      if (this.p.mode[v] === ADAPTIVE && moves.some((j) => s.legal[j])) {
        const advantages = this.advantages("theta", v, this.design(s, v, this.probabilities(s, v)));
        return moves[argmin(advantages.map((a, m) => (s.legal[moves[m]] ? a : Infinity)))];
      }
      return [...this.moves("backup_acquisition", v), ...this.p.order].find((j) => s.legal[j]) ?? -1;
    }

    // Class probabilities by the classifier of subset v: boosted trees, logistic regression and a forest, blended.
    probabilities(s, v) {
      const n = this.classes.length, features = this.part("feature", v), { blend, temperature } = this.p;
      const parts = [() => this.boosted(s, v, features, n), () => this.logistic(s, v, features, n), () => this.forest(s, v, features, n)];
      const blended = new Array(n).fill(0);
      parts.forEach((shares, part) => {
        const weight = blend[3 * v + part];
        if (weight > 0) shares().forEach((share, k) => (blended[k] += weight * share));
      });
      return softmax(blended.map((share) => Math.log(Math.max(share, 1e-12)) / temperature[v]));
    }

    boosted(s, v, features, n) {
      const { start_score, split_place, split_cut, leaf_value, tree_first } = this.p;
      const nOutputs = start_score.shape[1], nSplits = split_place.shape[1], scores = new Array(n).fill(0);
      for (let k = 0; k < nOutputs; k++) scores[n - nOutputs + k] = start_score[v * nOutputs + k];
      for (let t = tree_first[v]; t < tree_first[v + 1]; t++) {
        let node = 0;
        while (node < nSplits) {
          const k = t * nSplits + node;
          node = 2 * node + 1 + (s.code[features[split_place[k]]] > split_cut[k] ? 1 : 0);
        }
        scores[n - nOutputs + ((t - tree_first[v]) % nOutputs)] += leaf_value[t * (nSplits + 1) + node - nSplits];
      }
      return softmax(scores);
    }

    logistic(s, v, features, n) {
      const coefficient = this.part("coefficient", v), scores = Array.from(coefficient.subarray(0, n));
      features.forEach((i, f) => {
        for (let h = 0; h < 4; h++) {
          for (let k = 0; k < n; k++) scores[k] += s.z[4 * i + h] * coefficient[(1 + 4 * f + h) * n + k];
        }
      });
      return softmax(scores);
    }

    forest(s, v, features, n) {
      const { node_child, node_place, node_cut, entry_start, entry_class, entry_share } = this.p;
      const shares = new Array(n).fill(0), roots = this.part("root", v);
      for (let node of roots) {
        while (node_child[node] >= 0) {
          node = node_child[node] + (s.code[features[node_place[node]]] > node_cut[node] ? 1 : 0);
        }
        const leaf = -1 - node_child[node];
        for (let e = entry_start[leaf]; e < entry_start[leaf + 1]; e++) shares[entry_class[e]] += entry_share[e];
      }
      return shares.map((share) => (share / roots.length + 0.01 / n) / 1.01);
    }

    // The numbers from which advantages at subset v are predicted: beliefs, values, and the place of the cell.
    design(s, v, shares) {
      const features = this.part("feature", v), [p0, p1] = shares;
      const numbers = [1, Math.min(...this.costsOfAnswers(shares))];
      if (shares.length === 2) {
        const half = clip(0.5 * Math.log(Math.max(p1, 1e-9) / Math.max(p0, 1e-9)), -6, 6);
        numbers.push(half, Math.abs(half), 4 * p0 * p1, Math.max(Math.abs(half) - 1, 0));
      } else {
        const [first, second] = [...shares].sort((a, b) => b - a);
        const entropy = -sum(shares.map((share) => share * Math.log(Math.max(share, 1e-12))));
        numbers.push(first, first - second, entropy, second, ...shares.map(Math.sqrt));
      }
      const shown = features.length <= 4 ? 4 : features.length <= 20 ? 1 : 0;
      features.forEach((i) => numbers.push(...s.z.subarray(4 * i, 4 * i + shown)));
      let cell = 0, stride = 1;
      if (this.p.cells[v] > 0) {
        features.forEach((i) => {
          cell += stride * s.code[i];
          stride *= this.p.n_bins[i];
        });
      }
      return { numbers, cell, nCells: this.p.cells[v] };
    }

    // The predicted advantages of the moves at subset v, below 0 better than to answer; none saves more than it can.
    advantages(name, v, { numbers, cell, nCells }) {
      const theta = this.part(name, v), n = theta.length / (numbers.length + nCells), features = this.part("feature", v);
      const { prices } = this.legalAndPrices(this.groups.map((group) => features.includes(group[0])), 0);
      const moves = this.moves(name === "theta" ? "acquisition" : "backup_acquisition", v);
      return range(0, n).map((m) => {
        const shown = sum(numbers.map((x, k) => x * theta[k * n + m]));
        const advantage = shown + (nCells > 0 ? theta[(numbers.length + cell) * n + m] : 0);
        return Math.max(advantage, this.leastCost(prices[moves[m]]) - numbers[1]);
      });
    }
  }

  // The place of the lowest number below 0 among those that `may` be chosen; -1 if there is none.
  function lowestBelow0(numbers, may) {
    return numbers.reduce((best, x, m) => (x < (best < 0 ? 0 : numbers[best]) && may(m) ? m : best), -1);
  }

  // --- linear and network: the legal action of the highest score; a subclass has `scores` of features that are known

  class Scored extends Policy {
    advise(acquired, values, legal) {
      const n = this.groups.length, known = this.known(acquired, legal), empty = this.parameters.empty_answer;
      const [action, scores, order] = this.replay(acquired, values, legal, known, false);
      const beyond = action < n ? action : this.replay(acquired, values, legal, known, true)[0];
      const best = empty >= 0 && !acquired.some(Boolean) ? empty : argmax(Array.from(scores.subarray(n)));
      const answer = action >= n ? action - n : best, ifAcquired = (j) => (j < n ? j : -1);
      const advice = this.advice(ifAcquired(action), ifAcquired(beyond), answer, Array.from(scores.subarray(0, n)));
      advice.uses = (i) => order.some((j) => this.groups[j].includes(i));
      if (this.parameters.algorithm === "dqn") {
        // its scores are expected returns, in units of the largest error cost
        const unit = Math.max(...this.errorCosts.flat().map(Math.abs)) || 1;
        const cost = (score) => (Number.isFinite(score) ? -score * unit : NaN); // weights can be too large for an estimate
        advice.expected = advice.preference.map(cost);
        advice.stopCost = cost(scores[n + answer]);
      }
      return advice;
    }

    // The first action from the empty state on that is no known acquisition, the scores before it, and what was taken.
    replay(acquired, values, legal, known, beyond) {
      const n = this.groups.length, taken = new Array(n).fill(false), order = [];
      const candidates = known.map((k, j) => k || legal[j]);
      for (let spent = 0; order.length <= n; ) {
        const now = this.legalAndPrices(taken, spent);
        let allowed = candidates.map((can, j) => can && !taken[j] && (now.legal[j] || !this.legalAfter(j, known, spent)));
        if (beyond && !allowed.some(Boolean)) allowed = candidates.map((can, j) => can && !taken[j]);
        const goesOn = allowed.some(Boolean);
        const scores = this.scores(order.flatMap((j) => this.groups[j]).filter((i) => acquired[i]), values);
        if (!goesOn && order.length === 0 && this.parameters.empty_answer >= 0) {
          return [n + this.parameters.empty_answer, scores, order];
        }
        const may = (a) => (a < n ? allowed[a] : !(beyond && goesOn));
        const action = argmax(Array.from(scores, (score, a) => (may(a) ? score : -Infinity)));
        if (action >= n || !known[action]) return [action, scores, order];
        taken[action] = true;
        order.push(action);
        spent += now.prices[action];
      }
      throw new Error("the policy is damaged: an acquisition is made twice");
    }

    legalAfter(j, known, spent) {
      return this.legalAndPrices(known.map((k, i) => k && i !== j), spent).legal[j];
    }

    scaled(values, i, most) {
      return clip(round32((values[i] - this.arrays.offset[i]) * this.arrays.scale[i]), -round32(most), round32(most));
    }
  }

  class Linear extends Scored {
    scores(features, values) {
      const { intercepts, weights } = this.arrays, n = intercepts.length;
      const scores = intercepts.map((x) => Math.max(x, -1e29));
      for (const i of features) {
        const x = this.scaled(values, i, 1e9), first = 2 * n * i;
        for (let a = 0; a < n; a++) scores[a] += round32(weights[first + a] + x * weights[first + n + a]);
      }
      if (this.parameters.logistic) {
        const n = this.groups.length, logits = Array.from(scores.subarray(n, n + this.classes.length)), most = Math.max(...logits);
        const shares = logits.map((x) => Math.exp(x - most)), total = shares.reduce((sum, x) => sum + x, 0);
        scores.set(this.costsOfAnswers(shares.map((x) => x / total)).map((cost) => -cost), n);
      }
      return scores;
    }
  }

  class Network extends Scored {
    scores(features, values) {
      const { algorithm, hidden } = this.parameters, ofValues = algorithm === "dqn";
      const trunk = ofValues ? "q_net.q_net" : "mlp_extractor.policy_net";
      let signal = new Float32Array(2 * this.nFeatures);
      for (const i of features) {
        signal[i] = 1;
        signal[this.nFeatures + i] = this.scaled(values, i, 10);
      }
      hidden.forEach((_, k) => {
        const active = ofValues ? (x) => Math.max(x, 0) : Math.tanh;
        signal = this.linear(`${trunk}.${2 * k}`, signal).map(active);
      });
      const scores = this.linear(ofValues ? `${trunk}.${2 * hidden.length}` : "action_net", signal);
      return scores.map((x) => (Number.isNaN(x) ? 0 : x));
    }

    linear(name, signal) {
      const weight = this.arrays[`network.${name}.weight`], n = signal.length;
      return this.arrays[`network.${name}.bias`].map((bias, u) => dot(signal, weight.subarray(u * n, u * n + n)) + bias);
    }
  }

  // --- any state: the preferred acquisition as long as a regression says that going on is worth it

  class AnyState extends Policy {
    constructor(plain) {
      super(plain);
      // Policies of fsgym 0.2.0, and those without a unit, decide by costs as they are: the others by regrets.
      const { unit } = this.parameters, isUnit = Number.isFinite(unit) && unit > 0;
      mustHold(unit === undefined || isUnit, "its unit of costs is no number above 0");
      const { answerCosts, lowestCosts } = this;
      this.regrets = answerCosts.map((row) => row.map((cost, k) => cost - lowestCosts[k]));
      this.deciding = unit === undefined ? answerCosts : this.regrets;
      this.lowestDeciding = Math.min(...this.deciding.flat());
    }

    advise(acquired, values, legal) {
      const anyKnown = this.groups.map((group) => group.some((i) => acquired[i]));
      const prices = this.legalAndPrices(anyKnown, 0).prices.map((price) => this.rules.lam * price);
      const skipped = legal.map((can, j) => Boolean(can) && (this.arrays.skipped || []).includes(j));
      const first = legal.map((can, j) => Boolean(can) && !this.counts(j));
      // The stop rule was learnt where all that comes first is made: it says what going on is worth after that.
      const open = legal.map((can, j) => Boolean(can) && !skipped[j] && !first[j]);
      const { shares, preference, inputs } = this.estimate(acquired, values, open, prices);
      skipped.forEach((is, j) => is && (preference[j] = -1e300));
      const costs = this.decidingCosts(shares), least = Math.min(...costs), later = argmax(preference);
      const predicted = this.advantage(shares, least, prices[later], inputs);
      const [most] = this.arrays.most || [Infinity], isLong = anyKnown.filter((is, j) => is && this.counts(j)).length >= most;
      const pays = open.some(Boolean) && least - this.lowestDeciding > prices[later] && predicted < 0 && !isLong;
      first.forEach((is, j) => is && (preference[j] = 1e300));
      const preferred = argmax(preference), comesFirst = first.some(Boolean), canGoOn = legal.some(Boolean);
      const wanted = canGoOn && !skipped[preferred], goesOn = wanted && (pays || comesFirst);
      const advice = this.advice(goesOn ? preferred : -1, canGoOn ? preferred : -1, argmin(costs), preference, shares);
      const stopCost = Math.min(...this.costsOfAnswers(shares));
      if (wanted) advice.expected[preferred] = stopCost + (comesFirst && !pays ? 0 : predicted);
      return advice;
    }

    decidingCosts(shares) {
      return this.deciding.map((costs) => dot(costs, shares));
    }

    // The loss of going on less that of answering, predicted by a linear regression on hinges.
    advantage(shares, least, price, inputs) {
      const unit = Math.max(...this.deciding.flat().map(Math.abs)) || 1, excess = (least - this.lowestDeciding) / unit;
      const [first, second] = [...shares].sort((a, b) => b - a);
      const entropy = -sum(shares.map((share) => share * Math.log(Math.max(share, 1e-12))));
      const logs = [Math.log(excess + 1e-3), Math.log((excess + 1e-3) / (price / unit + 1e-3))];
      const numbers = [excess, ...logs, first, second, entropy, ...inputs], n = numbers.length;
      const { "stop.centre": centre, "stop.scale": scale, "stop.knots": knots, "stop.theta": theta } = this.arrays;
      const nKnots = knots.shape[1];
      let total = theta[0];
      numbers.forEach((x, i) => {
        const z = clip((x - centre[i]) / scale[i], -4, 4);
        total += theta[1 + i] * z;
        for (let k = 0; k < nKnots; k++) {
          total += theta[1 + n + i * nKnots + k] * Math.max(z - knots[i * nKnots + k], 0);
        }
      });
      return total;
    }
  }

  // A mixture of each class in which variables are independent; the most informative acquisition per price.
  class Mixture extends AnyState {
    constructor(plain) {
      super(plain);
      const start = "model.".length, own = Object.entries(this.arrays).filter(([name]) => name.startsWith("model."));
      this.m = Object.fromEntries(own.map(([name, array]) => [name.slice(start), array]));
      const { center, first_level, class_of, first_point, mass } = this.m, n = class_of.length;
      this.firstColumn = [0];
      center.forEach((_, v) => this.firstColumn.push(this.firstColumn[v] + (first_level[v + 1] - first_level[v] || 3)));
      this.tables = this.groups.map((_, j) => {
        const size = (first_point[j + 1] - first_point[j]) / n;
        return range(0, n).map((g) => mass.subarray(first_point[j] + g * size, first_point[j] + (g + 1) * size));
      });
      this.entropies = this.tables.map((table) => table.map(entropyOf));
    }

    // The code of variable v, NaN where it is not known.
    code(v, acquired, values) {
      const { feature, first_feature, level, first_level, knot, score, first_knot, center, scale } = this.m;
      const members = feature.subarray(first_feature[v], first_feature[v + 1]);
      if (!members.every((i) => acquired[i])) return NaN;
      const placeOf = (place) => (place < 0 ? NaN : place);
      if (members.length > 1) return placeOf(members.findIndex((i) => values[i] > 0.5));
      const x = values[members[0]];
      if (first_level[v] < first_level[v + 1]) {
        let k = first_level[v]; // of the nearest level
        while (k + 1 < first_level[v + 1] && x > (level[k] + level[k + 1]) / 2) k++;
        return k - first_level[v];
      }
      const low = first_knot[v], high = first_knot[v + 1] - 1;
      if (low > high) return clip((x - center[v]) / scale[v], -6, 6);
      if (x <= knot[low]) return score[low];
      if (x >= knot[high]) return score[high];
      let k = low;
      while (knot[k + 1] <= x) k++;
      return score[k] + (score[k + 1] - score[k]) * ((x - knot[k]) / (knot[k + 1] - knot[k]));
    }

    // The posterior of class and component, the class probabilities, and the number of known variables.
    posterior(acquired, values) {
      const { theta, class_of, log_share, first_level } = this.m, n = class_of.length;
      const evidence = new Float64Array(n), shares = new Array(this.classes.length).fill(0);
      let nKnown = 0;
      for (let v = 0; v < first_level.length - 1; v++) {
        const z = this.code(v, acquired, values);
        if (Number.isNaN(z)) continue;
        nKnown++;
        const isNumber = first_level[v] === first_level[v + 1];
        const at = (this.firstColumn[v] + (isNumber ? 0 : z)) * n;
        for (let g = 0; g < n; g++) {
          evidence[g] += isNumber ? (theta[at + g] + theta[at + n + g] * z) * z + theta[at + 2 * n + g] : theta[at + g];
        }
      }
      const power = (1 + nKnown) ** this.parameters.count_power;
      const joint = softmax(evidence.map((x, g) => power * x + log_share[g]));
      joint.forEach((share, g) => (shares[class_of[g]] += share));
      return { joint, shares, nKnown };
    }

    estimate(acquired, values, legal, prices) {
      const { joint, shares, nKnown } = this.posterior(acquired, values), { weights, unit = 1 } = this.parameters;
      const priced = prices.map((price) => price / unit);
      const active = range(0, joint.length).filter((g) => joint[g] > 1e-3), mass = sum(active.map((g) => joint[g]));
      active.forEach((g) => (joint[g] /= mass));
      const cost = Math.min(...this.decidingCosts(shares)), some = range(0, legal.length).filter((j) => legal[j]);
      const total = sum(some.map((j) => priced[j])), least = total > 0 ? (0.01 * total) / some.length : 1;
      const gains = new Array(legal.length), preference = new Array(legal.length).fill(-Infinity);
      for (const j of some) {
        gains[j] = this.gains(j, joint, active);
        gains[j][0] = Math.max(cost - gains[j][0], 0) / unit;
        preference[j] = (gains[j][0] + weights[2] * gains[j][1]) / Math.max(priced[j], least);
      }
      const inputs = new Array(11).fill(0);
      inputs[9] = Math.sqrt(nKnown) / 3;
      if (some.length === 0) return { shares, preference, inputs };
      some.sort((i, j) => preference[j] - preference[i] || i - j);
      const [best, second] = some, excess = (cost - this.lowestDeciding) / unit, divisor = excess + 1e-3;
      inputs[0] = excess;
      inputs[1] = Math.log(divisor) / 3;
      inputs[2] = gains[best][0] / divisor;
      inputs[3] = Math.max(...some.map((j) => gains[j][0])) / divisor;
      inputs[4] = Math.max(...some.map((j) => gains[j][0] - priced[j])) / divisor;
      inputs[5] = entropyOf(shares);
      inputs[6] = entropyOf(joint) - inputs[5];
      inputs[7] = gains[best][1];
      inputs[8] = priced[best] / divisor;
      if (second !== undefined && preference[second] > 0) inputs[10] = Math.log(preference[best] / preference[second]);
      return { shares, preference, inputs: inputs.map((x) => clip(x, -10, 10)) };
    }

    // The remaining error cost after acquisition j, and the information about class and component.
    gains(j, joint, active) {
      const table = this.tables[j], nPoints = table[0].length, classes = [], byClass = [];
      let within = 0;
      for (const g of active) {
        if (classes[classes.length - 1] !== this.m.class_of[g]) {
          classes.push(this.m.class_of[g]);
          byClass.push(new Float64Array(nPoints));
        }
        const row = byClass[byClass.length - 1];
        within += joint[g] * this.entropies[j][g];
        for (let t = 0; t < nPoints; t++) row[t] += joint[g] * table[g][t];
      }
      const entropy = -sumXLogX(byClass[0].map((_, t) => sum(byClass.map((row) => row[t]))));
      const answers = this.deciding.map((costs) => classes.map((k) => costs[k]));
      const remaining = sum(
        range(0, nPoints).map((t) => Math.min(...answers.map((costs) => sum(costs.map((c, r) => c * byClass[r][t]))))),
      );
      return [remaining, entropy - within];
    }
  }

  // The sum of x log(x) by the policy's own logarithm, a series in the mantissa with an error below 1e-9: where nothing
  // is left to learn, this error is what ranks the acquisitions.
  function sumXLogX(numbers) {
    const number = new Float64Array(1), words = new Uint32Array(number.buffer);
    let total = 0;
    for (const x of numbers) {
      number[0] = x;
      const exponent = (words[1] >>> 20) - 1022.5;
      words[1] = (words[1] & 0xfffff) | 0x3ff00000;
      const s = (number[0] - Math.SQRT2) / (number[0] + Math.SQRT2), q = s * s;
      const series = 1 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9))));
      total += x * (exponent * Math.LN2 + 2 * s * series);
    }
    return total;
  }

  // Networks for class probabilities and for the ranking of acquisitions; all sums are in float32, in this order.
  class AnyStateNetwork extends AnyState {
    constructor(plain) {
      super(plain);
      const own = Object.entries(this.arrays).filter(([name]) => name.startsWith("model."));
      this.e = Object.fromEntries(own.map(([name, array]) => [name.split(".").pop(), array]));
      this.unit = Math.max(...this.regrets.slice(0, this.classes.length).flat()) || 1;
      this.scaledRegrets = this.regrets.map((row) => row.map((regret) => round32(regret / this.unit)));
    }

    // The inputs of the networks: z-scores and hinges of known values, 0 elsewhere, and the mask.
    embedded(acquired, values) {
      const { features, center, scale, knots, shift, spread } = this.e, m = features.length, nKnots = knots.shape[0];
      mustHold(nKnots * m === knots.length, "the knots do not fit the features");
      const inputs = new Float32Array((2 + nKnots) * m);
      features.forEach((feature, i) => {
        if (!acquired[feature]) return;
        const z = round32(clip((values[feature] - center[i]) / scale[i], -5, 5));
        inputs[i] = z;
        inputs[(1 + nKnots) * m + i] = 1;
        for (let k = 0; k < nKnots; k++) {
          const at = k * m + i, above = Math.max(round32(z - knots[at]), 0);
          inputs[(k + 1) * m + i] = clip(round32(round32(above - shift[at]) / spread[at]), -5, 5);
        }
      });
      return inputs;
    }

    estimate(acquired, values, legal, prices) {
      const { candidates, predictors, ranking } = this.e, n = this.classes.length, [nPredictors, size] = predictors.shape;
      const embedded = this.embedded(acquired, values), m = this.e.features.length;
      const [ofPredictor, ofRanking] = this.parameters.hidden, scores = new Float32Array(n);
      for (let k = 0; k < nPredictors; k++) {
        const part = predictors.subarray(k * size, (k + 1) * size);
        layered(part, [embedded.length, ...ofPredictor, n], embedded).forEach((x, c) => (scores[c] += x));
      }
      const scale = round32(1 / (this.parameters.temperature * nPredictors));
      const scaled = scores.map((x) => x * scale), top = Math.max(...scaled);
      const shares = softmax(scaled.map((x) => x - top)), p = Float32Array.from(shares);
      const error = Math.min(...this.scaledRegrets.map((row) => row.reduce((t, r, k) => round32(t + round32(p[k] * r)), 0)));
      const inputs = Float32Array.from([...embedded, ...p, error]);
      const out = layered(ranking, [inputs.length, ...ofRanking, candidates.length + 1], inputs);
      const preference = Array.from(legal, (can) => (can ? -1e6 * this.unit : -Infinity));
      let best = Infinity, second = Infinity, reduction = 0, bestPrice = 0;
      candidates.forEach((j, c) => {
        if (!legal[j]) return;
        const price = round32(Math.min(prices[j] / this.unit, 1e6)), advantage = round32(price - round32(error * out[c]));
        preference[j] = -advantage * this.unit;
        reduction = Math.max(reduction, round32(price - advantage));
        if (advantage < best) [best, second, bestPrice] = [advantage, best, price];
        else second = Math.min(second, advantage);
      });
      const gain = round32(error * clip(out[candidates.length], 0, 1)), floor = error + 1e-3;
      const numbers = [
        Math.log(floor),
        reduction / floor,
        best < Infinity ? (bestPrice - gain) / floor : 0,
        sum(Array.from(embedded.subarray(embedded.length - m))) / m,
        second < Infinity ? second - best : 0,
      ];
      return { shares, preference, inputs: numbers };
    }
  }

  // The outputs of rectified layers; the parameters of a layer are weights (n_in, n_out), then biases.
  function layered(parameters, sizes, x) {
    const nParameters = sum(range(1, sizes.length).map((layer) => (sizes[layer - 1] + 1) * sizes[layer]));
    mustHold(sizes.every(Number.isInteger) && nParameters === parameters.length, "a network does not fit its parameters");
    let first = 0;
    for (let layer = 0; layer < sizes.length - 1; layer++) {
      const n = sizes[layer], m = sizes[layer + 1], y = parameters.slice(first + n * m, first + n * m + m);
      for (let i = 0; i < n; i++) {
        if (x[i] === 0 || (layer > 0 && x[i] < 0)) continue;
        for (let u = 0, at = first + i * m; u < m; u++, at++) y[u] += round32(x[i] * parameters[at]);
      }
      first += (n + 1) * m;
      x = y;
    }
    return x;
  }

  // --- one case

  // The features of a value of a column: number, boolean, or a level as text.
  // TypeError for a value of another type: null, too, since a column without a value is left out, or closed.
  function encode(column, value) {
    const type = { number: "number", bool: "boolean" }[column.kind] ?? "string";
    if (typeof value !== type) {
      const got = typeof value === "string" ? `the text ${JSON.stringify(value)}` : String(value);
      throw new TypeError(`${column.name} must be a ${type}, got ${got}; leave the column out where it has no value`);
    }
    if (column.kind === "number") return [value - column.offset];
    if (column.kind === "bool") return [value ? 1 : 0];
    const place = column.levels.indexOf(value), n = column.features.length;
    if (place < 0) return new Array(n).fill(NaN); // a level that was not in training is unknown
    const isPlace = column.kind === "codes" || column.levels.length === 2;
    return isPlace ? [place] : column.levels.map((_, k) => (k === place ? 1 : 0));
  }

  // What is known about one case, and what can be acquired now.
  class Case {
    constructor(policy) {
      this.policy = policy;
      this.values = new Float64Array(policy.nFeatures).fill(NaN);
      this.closed = new Array(policy.nFeatures).fill(false); // features that cannot be obtained (any more)
      this.paid = new Array(policy.groups.length).fill(false);
      this.spent = 0;
      this.nPaid = 0;
    }

    isKnown(i) {
      return !Number.isNaN(this.values[i]);
    }

    // Set the value of column k.
    know(k, value) {
      const column = this.policy.columns[k], features = encode(column, value);
      column.features.forEach((i, place) => {
        this.values[i] = features[place];
        this.closed[i] = Number.isNaN(features[place]);
      });
    }

    // Say that column k cannot be obtained, unless it is known.
    close(k) {
      for (const i of this.policy.columns[k].features) this.closed[i] = !this.isKnown(i);
    }

    // Pay for acquisition j; what it does not bring cannot be obtained any more. `values` are pairs [column, value].
    acquire(j, values) {
      this.spent += this.legalAndPrices().prices[j];
      this.nPaid += this.policy.counts(j);
      this.paid[j] = true;
      for (const [k, value] of values) this.know(k, value);
      for (const k of this.policy.columnsOf[j]) this.close(k);
    }

    // The columns that acquisition j would bring.
    openColumns(j) {
      const isOpen = (i) => !this.isKnown(i) && !this.closed[i];
      return this.policy.columnsOf[j].filter((k) => isOpen(this.policy.columns[k].features[0]));
    }

    // Which of the boxes of a chart, [known, unavailable, question] by names, the case is at when acquisition j is asked:
    // of those that ask for it and know nothing else, the one that knows most, then the one whose unavailable acquisitions
    // are most like those of the case, then the first; -1 if there is none.
    placeAmong(boxes, j) {
      const { acquisitions, groups } = this.policy;
      const named = (is) => acquisitions.filter((_, k) => is(groups[k])).map(({ name }) => name);
      const have = named((group) => group.some((i) => this.isKnown(i))), lack = named((group) => group.every((i) => this.closed[i]));
      const unlike = (box) => box.filter((name) => !lack.includes(name)).length + lack.filter((name) => !box.includes(name)).length;
      const fits = boxes.flatMap(([known, unavailable, question], place) =>
        question === acquisitions[j].name && known.every((name) => have.includes(name)) ? [{ known, unavailable, place }] : []);
      fits.sort((a, b) => b.known.length - a.known.length || unlike(a.unavailable) - unlike(b.unavailable));
      return fits.length ? fits[0].place : -1;
    }

    // Whether the budgets leave room for acquisition j at a price.
    affords(j, price) {
      return this.isWithinBudget(j) && this.spent + price <= limitOf(this.policy.rules.budget_cost);
    }

    // Whether `budget` has room for acquisition j, or it does not count.
    isWithinBudget(j) {
      const { budget } = this.policy.rules;
      return budget === null || this.nPaid < budget || !this.policy.counts(j);
    }

    legalAndPrices() {
      const { groups } = this.policy;
      const some = groups.map((group) => group.some((i) => this.isKnown(i)));
      const rest = groups.map((group, j) => !this.paid[j] && group.some((i) => !this.isKnown(i) && !this.closed[i]));
      const taken = groups.map((_, j) => this.paid[j] || (some[j] && !rest[j]));
      const { legal, prices } = this.policy.legalAndPrices(taken, this.spent);
      // Whether something cannot be obtained that is not legal for now anyway: a policy takes it for one that comes
      // after its prerequisites, and what it expects of going on is not true.
      const gone = (j) => !taken[j] && !rest[j];
      const hides = this.policy.acquisitions.some(({ needs }, j) => gone(j) && needs.some((k) => !taken[k]) && !needs.some(gone));
      return { legal: legal.map((can, j) => can && rest[j] && this.isWithinBudget(j)), prices, hides };
    }

    // What the policy says: `action` is the acquisition to make, -1 to give answer `answer`. Acquisitions in
    // `later` come only where the policy would stop without them.
    step(later = new Set()) {
      const { policy } = this, { legal, prices, hides } = this.legalAndPrices();
      const acquired = Array.from(this.values, (_, i) => this.isKnown(i)), values = this.values.map(round32);
      let advice = policy.advised(acquired, values, legal);
      if (later.size > 0 && advice.action >= 0) {
        const other = policy.advised(acquired, values, legal.map((can, j) => can && !later.has(j)));
        if (other.action >= 0) advice = other;
      }
      const ranked = policy.userOrder.filter((j) => legal[j]);
      const before = (j) => (j === advice.beyond ? Infinity : advice.preference[j]);
      ranked.sort((i, j) => (before(i) === before(j) ? 0 : before(j) - before(i)));
      const { action, answer, probabilities } = advice, whole = policy.mostCost();
      const stopCost = clip(advice.stopCost, policy.lowestCost, Math.max(...policy.answerCosts.flat()));
      // The answer of now can still be given after an acquisition.
      const most = (price) => (Number.isNaN(stopCost) ? whole : Math.min(policy.rules.lam * price + stopCost, whole));
      const expected = advice.expected.map((cost, j) => clip(cost, policy.leastCost(prices[j], probabilities), most(prices[j])));
      // an estimate by which the question pays, although its price alone is more than an answer now costs, is none
      if (advice.expected[action] <= advice.stopCost && expected[action] > stopCost) expected[action] = NaN;
      if (hides) expected.fill(NaN);
      const alternatives = ranked.map((j) => ({ acquisition: j, price: prices[j], expected: expected[j] }));
      const goOn = advice.beyond < 0 ? NaN : expected[advice.beyond];
      // the columns whose values are known and have no effect on probabilities and answer yet
      const isUnused = ({ features }) => features.some((i) => acquired[i] && !advice.uses(i));
      const unused = range(0, policy.columns.length).filter((k) => isUnused(policy.columns[k]));
      const certainty = policy.rule === null ? null : policy.rule.certainty(advice.byClass, probabilities, answer === probabilities.length);
      const lacks = this.closed.some(Boolean); // whether something cannot be obtained
      return { action, answer, probabilities, stopCost, goOn, spent: this.spent, prices, alternatives, unused, certainty, lacks };
    }
  }

  // A case after all that was said about it, replayed: {one, later, log, overridden}. `known` are values known in advance,
  // `unavailable` columns, `events` what happened since then, in its order, as {kind, j, values, remark}: an "answer" was
  // acquired, an "unknown" had no result, "later" was postponed; `chosen` where the policy had not asked for it. Of a policy
  // with a rule, the first acquisition that was chosen or postponed overrides it. What was paid stays paid where something before it is taken
  // back, at its price then; only where `budget_cost` has no room for that price the value stays known at no price.
  function replay(policy, known, unavailable, events) {
    const one = new Case(policy), later = new Set(), log = [];
    let overridden = false;
    unavailable.forEach((k) => one.close(k));
    for (const given of known) {
      const { column, value, remark } = given;
      one.know(column, value);
      log.push({ given, name: policy.columns[column].name, values: [[column, value]], kind: "known", price: 0, remark });
    }
    for (const event of events) {
      const { kind, j, values, remark, chosen } = event, price = one.legalAndPrices().prices[j];
      const pays = kind === "answer" && one.affords(j, price);
      later.delete(j);
      if (kind === "later") later.add(j);
      else if (pays) one.acquire(j, values);
      else if (kind === "answer") values.forEach(([k, value]) => one.know(k, value));
      else policy.columnsOf[j].forEach((k) => one.close(k));
      const happened = kind === "answer" && !pays ? "known" : kind, { name } = policy.acquisitions[j];
      const overrides = policy.rule !== null && !overridden && (kind === "later" || (pays && Boolean(chosen)));
      overridden = overridden || overrides;
      log.push({ event, name, values, kind: happened, price: pays ? price : 0, remark, overrides });
    }
    return { one, later, log, overridden };
  }

  // Temperatures, one for each number of acquisitions of which something is known, the last one for larger numbers. They
  // change probabilities and expected costs, and the answer where another one then costs less.
  function calibrate(policy, temperatures) {
    const inRange = (t) => typeof t === "number" && t >= 0.01 && t <= 100;
    mustHold(Array.isArray(temperatures) && temperatures.length > 0 && temperatures.every(inRange), "a temperature is out of range");
    const advise = policy.advise.bind(policy);
    policy.advise = (acquired, values, legal) => {
      const advice = advise(acquired, values, legal), before = advice.stopCost;
      mustHold(advice.probabilities !== null, "there are temperatures and no probabilities");
      const size = policy.groups.filter((group) => group.some((i) => acquired[i])).length;
      const power = 1 / temperatures[Math.min(size, temperatures.length - 1)];
      const raised = advice.probabilities.map((p) => p ** power), total = sum(raised);
      advice.probabilities = raised.map((p) => p / total);
      const costs = policy.costsOfAnswers(advice.probabilities), best = argmin(costs);
      if (costs[advice.answer] > costs[best] + TIE) advice.answer = best;
      advice.stopCost = costs[advice.answer];
      advice.expected = advice.expected.map((cost) => cost + advice.stopCost - before);
      return advice;
    };
    return policy;
  }

  const KINDS = { lattice: Lattice, linear: Linear, network: Network, mixture: Mixture, any_network: AnyStateNetwork };

  const hasCasePrices = (plain) => plain.rules?.costs_by_case === true;

  // Where prices are by case, the parsed policy of a case with these prices, one for each acquisition.
  function atPrices(plain, prices) {
    mustHold(Array.isArray(plain.acquisitions), "it has no acquisitions");
    const isPrice = (price) => typeof price === "number" && price >= 0 && Number.isFinite(price);
    const fits = prices.length === plain.acquisitions.length && prices.every(isPrice);
    if (!fits) throw new Error("a case must have a price for each acquisition, 0 or more");
    const { policies = [{}], rules, ...rest } = plain;
    const part = policies.find((one) => one.prices?.every((price, j) => price === prices[j])) ?? policies.at(-1);
    const acquisitions = plain.acquisitions.map((a, j) => ({ ...a, price: prices[j] }));
    return { ...rest, ...part, acquisitions, rules: { ...rules, costs_by_case: false } };
  }

  // The policy of a parsed JSON text; an Error with a sentence if it is of another format. Where prices are by case, with
  // the `prices` of this case, in the order of the acquisitions; by default with their means in training.
  function read(plain, prices = null) {
    if (!plain || !FORMATS.includes(plain.format)) throw new Error(`the policy must be in the format ${FORMAT}`);
    if (hasCasePrices(plain)) {
      const policies = plain.policies ?? [];
      const isListed = Array.isArray(policies) && policies.every((one) => one && (one.prices === undefined || Array.isArray(one.prices)));
      mustHold(isListed && policies.length <= MOST_POLICIES, "its policies are no list of them");
      const usual = plain.acquisitions?.map((a) => a.price) ?? [];
      if (prices === null) policies.forEach((one) => read(atPrices(plain, one.prices ?? usual))); // all are whole
      return read(atPrices(plain, prices ?? usual));
    }
    if (prices !== null) throw new Error("the policy has one price for each acquisition, whatever the case");
    if (!Object.hasOwn(KINDS, plain.kind)) throw new Error(`the policy must be in the format ${FORMAT}`);
    const hasRule = plain.rule !== undefined;
    if (hasRule && !(plain.rule && Object.hasOwn(KINDS_OF_RULES, plain.rule.kind))) {
      throw new Error("the policy stops by a rule that this interpreter does not know; use a newer one");
    }
    const policy = new KINDS[plain.kind](plain), { temperatures } = plain.parameters;
    return temperatures === undefined ? policy : calibrate(policy, temperatures);
  }

  return { read, hasCasePrices, Case, replay };
})();

if (typeof module !== "undefined") module.exports = FsgymPolicy;
