// The page: one case, question by question. All texts of the model are written as text nodes, never as HTML.
"use strict";

(() => {
  const words = FsgymWords, { said } = words;
  words.speak(JSON.parse(document.getElementById("policy").dataset.speech));
  const plain = JSON.parse(document.getElementById("policy").textContent), hasPrices = FsgymPolicy.hasCasePrices(plain);
  let policy = FsgymPolicy.read(plain); // at the prices of the case, where it has its own
  const { BELIEFS_SHOWN, LEVELS_AS_BUTTONS } = words.FACTS, COLUMNS_WITHOUT_SEARCH = 12;
  const SVG = "http://www.w3.org/2000/svg";
  const byId = (id) => document.getElementById(id);
  const nameOf = (j) => policy.acquisitions[j].name;

  // What was said: values known in advance, columns that cannot be obtained, and what happened since then.
  let known = [], unavailable = [], events = [], chosen = null, stopped = false, told = []; // prices, as {j, price}

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    made.append(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
    return made;
  }

  // Characters that would turn the direction of writing, or are not seen, as escapes; the joiners of some scripts stay.
  function visible(text) {
    return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) =>
      "\n\t\u200c\u200d".includes(c) ? c : "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
  }

  // A name in parts, between which a line may be broken: after each "_".
  function breakable(text) {
    const [last, ...before] = visible(text).split("_").reverse();
    return [...before.reverse().flatMap((part) => [`${part}_`, document.createElement("wbr")]), last];
  }

  function show(id, text) {
    byId(id).textContent = visible(text);
    byId(id).hidden = !text;
  }

  // --- fields

  // A field for the value of a column; `read()` gives {value, remark}, or null where it is empty. `accept()` accepts the
  // text that it refused last, although it is not as in training.
  function field(k, id, isQuestion) {
    const column = policy.columns[k];
    return fieldOf(column, id, isQuestion, words.typingText(column));
  }

  function fieldOf(column, id, isQuestion, hint) {
    const few = column.levels.length > 0 && column.levels.length <= LEVELS_AS_BUTTONS;
    if (column.kind === "bool" || few) return choiceField(column, id, isQuestion);
    const list = column.levels.length ? `${id}-levels` : null;
    const input = element("input", {
      id, type: "text", list, inputmode: words.keyboard(column), "data-kind": column.kind, "aria-describedby": `${id}-hint`,
      autocapitalize: "off", spellcheck: "false",
    });
    const node = element(
      "div", { class: "field" },
      element("label", { for: id }, ...breakable(column.unit ? said("column_in", column) : column.name)),
      element("div", { class: "entry" }, input),
      element("p", { class: "hint", id: `${id}-hint` }, hint),
    );
    if (list) node.append(element("datalist", { id: list }, ...column.levels.map((level) => element("option", { value: level }))));
    let seen = null, accepted = null;
    const isEmpty = () => input.value === "" || (input.value.trim() === "" && !column.levels.includes(input.value));
    const read = () => (isEmpty() ? null : words.readValue(column, (seen = input.value), seen === accepted));
    const accept = () => (accepted = seen);
    const k = policy.columns.indexOf(column), mark = (wrong) => input.setAttribute("aria-invalid", wrong);
    return { k, node, read, accept, focus: () => input.focus(), mark };
  }

  // Radio buttons for levels, and for yes and no.
  function choiceField(column, id, isQuestion) {
    const levels = column.levels.map((level) => [level.trim(), level]);
    const choices = column.kind === "bool" ? [[said("yes"), true], [said("no"), false]] : levels;
    if (!isQuestion) choices.push([said("not_known"), null]);
    const hasKeys = isQuestion && words.digitsChoose(choices.map(([text]) => text));
    const inputs = choices.map((_, n) => element("input", { type: "radio", name: id, id: `${id}-${n}`, value: String(n) }));
    const labels = choices.map(([text], n) => {
      const key = hasKeys && n < 9 ? [element("kbd", { "aria-hidden": "true" }, String(n + 1))] : [];
      return element("label", { for: `${id}-${n}` }, inputs[n], element("span", { class: "name" }, text), ...key);
    });
    const node = element(
      "fieldset", { class: "field", role: "radiogroup" },
      element("legend", {}, ...breakable(column.name)), element("div", { class: "choices" }, ...labels),
    );
    const read = () => {
      const n = inputs.findIndex((input) => input.checked);
      return n < 0 || choices[n][1] === null ? null : { value: choices[n][1], remark: "" };
    };
    const pick = !hasKeys ? null : (n) => {
      if (inputs[n]) [inputs[n].checked] = [true, inputs[n].focus()];
      return n in inputs;
    };
    return { k: policy.columns.indexOf(column), node, read, pick, focus: () => inputs[0].focus(), mark: () => {} };
  }

  let refused = null; // the field whose refused value may be accepted
  const acceptance = ({ k }) => said(policy.columns[k].kind === "number" ? "accept_as_is" : "accept_as_unknown");

  // The values of some fields as [column, value, remark]; null, with the refusal shown, where one is not allowed; `refusal`
  // is the id of its place.
  function readAll(fields, refusal) {
    const values = [];
    show(refusal, "");
    byId("accept").hidden = true;
    refused = null;
    for (const one of fields) {
      one.mark(false);
      try {
        const found = one.read();
        if (found) values.push([one.k, found.value, found.remark]);
      } catch (error) {
        if (!(error instanceof words.Refusal)) throw error;
        if (refusal === "start-refusal") placeRefusal(one);
        show(refusal, error.message);
        refused = error.acceptable ? one : null;
        byId("accept").textContent = acceptance(one);
        byId("accept").hidden = refused === null || refusal !== "refusal";
        one.mark(true);
        one.focus();
        return null;
      }
    }
    return values;
  }

  // --- the start: what is known already

  // A refusal of the first form stands beside its field, as the form may be long; it is in sight whatever is searched.
  function placeRefusal(one) {
    one.node.append(byId("start-refusal"));
    one.node.closest("li").hidden = false;
    const folded = one.node.closest("details");
    if (folded) folded.open = true;
  }

  let startFields = [], priceFields = [];

  // A field for each acquisition whose price was not always the same in training.
  function showPrices() {
    byId("start-prices").hidden = !hasPrices;
    if (!hasPrices) return;
    const varies = (j) => plain.acquisitions[j].low_price < plain.acquisitions[j].high_price;
    priceFields = policy.userOrder.filter(varies).map((j) => {
      const column = { name: nameOf(j), kind: "number", levels: [], unit: words.currency(), low: 0 };
      const one = fieldOf(column, `price-${j}`, false, words.trainedPriceText(plain.acquisitions[j]));
      return { ...one, j, input: one.node.querySelector("input") };
    });
    byId("price-fields").replaceChildren(...priceFields.map((one) => element("li", {}, one.node)));
  }

  // The prices that were typed, and whether all of them are prices; the refusal of the first one that is none is shown.
  function readPrices() {
    const typed = [];
    for (const one of priceFields) {
      one.mark(false);
      const text = one.input.value.trim();
      if (text === "") continue;
      const price = words.priceOf(text);
      if (price === null) {
        const got = words.quoted(text), name = words.quoted(nameOf(one.j)), sentence = said("price_refused", { name, got });
        placeRefusal(one);
        show("start-refusal", `${sentence[0].toUpperCase()}${sentence.slice(1)}.`);
        one.mark(true);
        one.focus();
        return null;
      }
      typed.push({ j: one.j, price });
    }
    return typed;
  }

  function showStart() {
    [known, unavailable, events, chosen, stopped, told, refused] = [[], [], [], null, false, [], null];
    byId("spoken").textContent = "";
    byId("start-form").prepend(byId("start-refusal")); // no field is left that it stands beside
    showPrices();
    startFields = policy.columns.map((_, k) => {
      const one = field(k, `known-${k}`, false);
      const tick = element("input", { type: "checkbox", id: `closed-${k}` });
      one.closed = () => tick.checked;
      const label = element("label", { class: "tick", for: `closed-${k}` }, tick, said("cannot_obtain"));
      one.row = element("li", {}, one.node, label);
      return one;
    });
    const isBrought = (plain.rules.always_known ?? []).flatMap((j) => policy.columnsOf[j]);
    const [brought, others] = [true, false].map((is) => startFields.filter((one) => isBrought.includes(one.k) === is));
    byId("always-fields").replaceChildren(...brought.map((one) => one.row));
    byId("start-fields").replaceChildren(...others.map((one) => one.row));
    byId("start-always").hidden = brought.length === 0;
    byId("start-known").hidden = others.length === 0;
    byId("find-field").hidden = others.length <= COLUMNS_WITHOUT_SEARCH;
    byId("find").value = "";
    byId("note").value = "";
    byId("start-known").open = false;
    show("start-refusal", "");
    for (const id of ["question", "answer", "tools", "reasons", "more", "belief", "history", "restart", "print"]) byId(id).hidden = true;
    byId("start").hidden = false;
    markPlace(null, null);
    labelBegin("");
    byId("begin").focus({ preventScroll: true });
  }

  byId("find").addEventListener("input", () => {
    const wanted = byId("find").value.trim().toLowerCase();
    const listed = startFields.filter((one) => byId("start-fields").contains(one.row));
    for (const one of listed) one.row.hidden = !policy.columns[one.k].name.toLowerCase().includes(wanted);
  });

  byId("start-form").addEventListener("submit", (event) => {
    event.preventDefault();
    refused?.accept(); // pressed again, the button accepts the value that it refused
    const values = readAll(startFields, "start-refusal");
    labelBegin(refused ? acceptance(refused) : "");
    if (values === null) return;
    const double = values.find(([k]) => startFields[k].closed());
    if (double) {
      placeRefusal(startFields[double[0]]);
      show("start-refusal", said("known_or_unavailable", { name: words.quoted(policy.columns[double[0]].name) }));
      return;
    }
    const typed = readPrices();
    if (typed === null) return;
    if (hasPrices) {
      told = typed;
      const prices = plain.acquisitions.map((a, j) => told.find((one) => one.j === j)?.price ?? a.price);
      policy = FsgymPolicy.read(plain, prices);
      tellPrices();
    }
    known = values.map(([column, value, remark]) => ({ column, value, remark }));
    unavailable = startFields.filter((one) => one.closed()).map((one) => one.k);
    byId("start").hidden = true;
    for (const id of ["tools", "reasons", "more", "belief", "restart", "print"]) byId(id).hidden = false;
    render();
  });

  byId("start-form").addEventListener("input", () => {
    refused = null;
    labelBegin("");
  });

  // What the buttons say that begin a case: what they accept, or "" for their usual words.
  function labelBegin(accepted) {
    const usual = [said("begin"), said("begin_with_this")];
    document.querySelectorAll("button.begin").forEach((button, k) => (button.firstChild.textContent = `${accepted || usual[k]} `));
  }

  // --- the question and the answer

  let now = null, fields = [];

  function stepNow() {
    const replayed = FsgymPolicy.replay(policy, known, unavailable, events);
    return { ...replayed, step: replayed.one.step(replayed.later) };
  }

  function render(notice = "") {
    now = stepNow();
    const { step } = now, asked = stopped ? null : chosen ?? (step.action < 0 ? null : step.action), early = stoppedEarly();
    show("notice", notice);
    show("refusal", "");
    byId("accept").hidden = true;
    byId("question").hidden = asked === null;
    byId("answer").hidden = asked !== null;
    byId("undo").disabled = known.length === 0 && events.length === 0 && chosen === null && !stopped;
    if (asked === null) showAnswer(step);
    else showQuestion(asked, step);
    showBeliefs(step);
    const isOver = policy.rule !== null && (now.overridden || early);
    show("certainty", isOver ? words.overrideText(policy) : words.certaintyText(policy, step));
    byId("promised").hidden = policy.rule === null || isOver;
    showStop(step, asked, isOver);
    showWhy(step, asked, early);
    showAccepted(asked === null ? "answer" : "belief");
    show("unused", words.unusedText(policy, step));
    showAlternatives(step, asked);
    show("other-ends", isOver ? "" : words.otherEndsText(policy));
    showLog(now.log, early);
    byId("paid").textContent = words.moneyText(step.spent);
    markPlace(told.length ? null : now.one, asked); // the chart is at the mean prices
  }

  // Whether the person ended the case, and the model would have gone on.
  const stoppedEarly = () => stopped && now.step.action >= 0;

  function showStop(step, asked, isOver) {
    byId("stop-now").hidden = asked === null;
    byId("stop-label").textContent = visible(said("stop_now", { answer: words.answerText(policy, step.answer) }));
    const ends = asked === null || isOver ? "" : words.stopEndsText(policy, step);
    byId("stop-ends").hidden = !ends;
    byId("stop-ends").className = ends && step.certainty.enough ? "quiet" : "";
    byId("stop-ends").replaceChildren(ends && !step.certainty.enough ? element("strong", {}, ends) : ends);
  }

  function showWhy(step, asked, early) {
    const title = asked === null && !early ? "why_stops" : asked !== null && chosen === null ? "why_question" : "what_it_says";
    byId("why-title").textContent = said(title);
    show("reason", early ? words.explainStop(policy, step) : words.explain(policy, step));
    show("cost-unit", words.costUnitText(policy, step));
  }

  // What the case rests on although it is not as in training, beside the answer, or before it beside the beliefs.
  function showAccepted(beside) {
    const ofKnown = known.filter((one) => one.remark).map(({ column, remark }) => `${policy.columns[column].name}: ${remark}`);
    const remarks = [...ofKnown, ...events.flatMap((event) => event.accepted ?? [])].join("; ");
    for (const place of document.querySelectorAll("[data-not-as-trained]")) {
      place.hidden = !remarks || place.closest("section").id !== beside;
      place.textContent = remarks && visible(said("not_as_trained", { remarks }));
    }
  }

  function showQuestion(j, step) {
    const price = said("price_and_paid", { price: words.priceText(step.prices[j]), spent: words.moneyText(step.spent) });
    byId("question-title").replaceChildren(...breakable(nameOf(j)));
    byId("question-price").textContent = price;
    show("free-too", words.freeTooText(policy, step, j));
    if (step.action < 0) show("notice", words.wouldStopText(policy, step.answer));
    fields = now.one.openColumns(j).map((k) => field(k, `value-${k}`, true));
    byId("question-fields").replaceChildren(...fields.map((one) => one.node));
    byId("later").hidden = chosen !== null && step.action < 0;
    byId("later").firstChild.textContent = `${said(chosen === null ? "later_button" : "back_to_question")} `;
    byId("unknown-or-later").hidden = chosen !== null;
    byId("spoken").textContent = visible(said("question_spoken", { name: nameOf(j), price }));
    fields[0].focus();
  }

  function showAnswer(step) {
    const label = words.answerText(policy, step.answer), refers = step.answer === policy.classes.length;
    const text = said(refers ? "refer_final" : "answer_final", { answer: label, spent: words.moneyText(step.spent) });
    byId("answer-title").textContent = visible(text);
    show("cutoff", words.cutoffText(policy, step));
    fields = [];
    byId("question-fields").replaceChildren();
    let cost = "";
    if (!Number.isNaN(step.stopCost)) {
      const isLast = Number.isNaN(step.goOn), values = { cost: words.costText(step.stopCost), on: words.costText(step.goOn) };
      if (!isLast) values.name = nameOf(step.alternatives[0].acquisition);
      const sentences = refers ? ["cost_of_referring", "referring_after"] : ["cost_of_answer", "cost_after"];
      cost = said(sentences[isLast ? 0 : 1], values);
      if (policy.words && !refers) cost += ` ${said("cost_by_bins")}`;
    }
    show("answer-cost", cost);
    show("free-left", words.freeLeftText(policy, step));
    byId("spoken").textContent = visible(text);
    byId("answer-title").focus(); // not a button: another Enter would end the case
  }

  function showBeliefs({ probabilities, answer }) {
    const list = byId("beliefs");
    show("no-beliefs", probabilities === null ? words.answerNowText(policy, answer) : "");
    if (probabilities === null) return;
    const order = probabilities.map((_, k) => k);
    if (order.length > BELIEFS_SHOWN) order.sort((i, j) => probabilities[j] - probabilities[i]);
    const shown = order.slice(0, BELIEFS_SHOWN);
    if (policy.words) shown.sort((i, j) => i - j); // ranges in the order of the number
    const items = shown.map((k) => {
      const bar = document.createElementNS(SVG, "svg"), attributes = { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" };
      bar.setAttribute("class", "bar");
      for (const [name, value] of Object.entries(attributes)) bar.setAttribute(name, value);
      for (const [part, width] of [["track", 100], ["share", 100 * probabilities[k]]]) {
        const rectangle = document.createElementNS(SVG, "rect");
        rectangle.setAttribute("class", part);
        rectangle.setAttribute("width", String(width));
        rectangle.setAttribute("height", "10");
        bar.append(rectangle);
      }
      const label = element("span", { class: "label" }, ...breakable(words.classText(policy, k)), k === answer ? element("span", { class: "spoken" }, ` ${said("the_answer_now")}`) : "");
      const percent = element("span", { class: "percent" }, words.probabilityText(probabilities[k]));
      return element("li", { class: k === answer ? "now" : null }, label, percent, bar);
    });
    if (order.length > BELIEFS_SHOWN) items.push(element("li", { class: "quiet" }, said(policy.words ? "more_ranges" : "more_classes", { n: order.length - BELIEFS_SHOWN })));
    list.replaceChildren(...items);
  }

  function showAlternatives({ alternatives }, asked) {
    const items = alternatives.map(({ acquisition, price, expected }) => {
      const cost = Number.isNaN(expected) ? said("not_estimated") : words.costText(expected);
      const about = said("with_expected", { price: words.priceText(price), cost });
      const text = element("span", {}, element("span", { class: "name" }, ...breakable(nameOf(acquisition))), element("small", {}, about));
      const label = said("acquire_instead", { name: nameOf(acquisition) });
      const button = element("button", { type: "button", class: "small", "aria-label": label }, said("acquire"));
      button.addEventListener("click", () => {
        [chosen, stopped] = [acquisition, false];
        render();
      });
      return element("li", {}, text, acquisition === asked ? element("small", {}, said("asked_now")) : button);
    });
    const none = element("li", { class: "quiet" }, said("nothing_more"));
    byId("alternative-list").replaceChildren(...(items.length ? items : [none]));
    byId("alternatives").hidden = stopped; // undo opens the case again
  }

  function showLog(log, early) {
    byId("history").hidden = log.length === 0 && !early && unavailable.length === 0 && !hasPrices;
    noteCourse();
    const rows = log.map(({ given, event, name, values, kind, price, remark, overrides }) => {
      const texts = values.map(([k, value]) => {
        const column = policy.columns[k], text = words.valueText(column, value);
        return column.name === name ? text : `${column.name} = ${text}`;
      });
      const value = element("td", {}, texts.join(", ") || said(`kind_${kind}`));
      if (kind === "known") value.append(element("small", { class: "quiet" }, ` ${said("was_known")}`));
      if (remark) value.append(element("small", { class: "quiet" }, ` ${said("was_accepted", { remark })}`));
      if (event?.beyond && kind === "answer") value.append(element("small", { class: "quiet" }, ` ${said("beyond_stop")}`));
      if (overrides) value.append(element("small", { class: "quiet" }, ` ${words.overrideText(policy)}`));
      if (event?.belief) value.append(element("small", { class: "quiet" }, ` ${event.belief}`));
      const cost = kind === "answer" && price ? words.moneyText(price) : said("free");
      const cells = [element("td", { class: "name" }, ...breakable(name)), value, element("td", { class: "number" }, cost)];
      const button = element("button", { type: "button", class: "small", "aria-label": said("undo_name", { name }) }, said("undo"));
      button.addEventListener("click", () => takeBack(event ?? given));
      return element("tr", {}, ...cells, element("td", {}, stopped ? "" : button));
    });
    if (unavailable.length) {
      const names = unavailable.map((k) => policy.columns[k].name).join(", ");
      rows.unshift(element("tr", {}, element("td", { colspan: "4", class: "quiet" }, said("unavailable", { names }))));
    }
    if (early) {
      const ends = policy.rule !== null && !now.overridden ? element("small", { class: "quiet" }, ` ${words.overrideText(policy)}`) : "";
      rows.push(element("tr", {}, element("td", { colspan: "4" }, said("stopped_now"), ends)));
    }
    byId("log").tBodies[0].replaceChildren(...rows);
  }

  // The belief after each event, in words, and whether a person chose it where the model would have stopped.
  function noteCourse() {
    const prior = new FsgymPolicy.Case(policy).step().probabilities;
    const stepAfter = (n) => {
      const { one, later } = FsgymPolicy.replay(policy, known, unavailable, events.slice(0, n));
      return one.step(later);
    };
    events.forEach((event, k) => {
      if (event.belief !== undefined) return;
      event.beyond = Boolean(event.chosen) && stepAfter(k).action < 0;
      event.belief = words.beliefText(policy, prior, stepAfter(k + 1).probabilities);
    });
  }

  // The prices of the case, and which of them are far from those of the training.
  function tellPrices() {
    const prices = told.map(({ j, price }) => `${nameOf(j)} ${words.moneyText(price)}`).join(", ");
    show("told-prices", told.length ? said("prices_told", { prices }) : said("prices_at_mean"));
    show("far-prices", told.map(({ j, price }) => words.farPriceText(plain.acquisitions[j], price)).filter(Boolean).join(" "));
  }

  // --- what a person does

  function give() {
    const values = readAll(fields, "refusal");
    if (values === null) return;
    if (values.length === 0) {
      show("refusal", said("type_a_value"));
      fields[0].focus();
      return;
    }
    const j = asked(), accepted = values.map(([k, , remark]) => remark && `${policy.columns[k].name}: ${remark}`).filter(Boolean);
    const given = values.map(([k, value]) => [k, value]), isChosen = j !== now.step.action;
    say({ kind: "answer", j, values: given, remark: accepted.join("; "), accepted, chosen: isChosen });
  }

  const asked = () => chosen ?? now.step.action;

  function say(event, notice = "") {
    events.push(event);
    chosen = null;
    render(notice);
  }

  function later() {
    const j = asked();
    if (chosen !== null) {
      chosen = null;
      render();
      return;
    }
    events.push({ kind: "later", j, values: [], remark: "" });
    if (stepNow().step.action === j) {
      events.pop();
      render(said("comes_now", { name: nameOf(j) }));
    } else {
      render();
    }
  }

  function undo() {
    if (chosen === null && !stopped) return takeBack(events.at(-1) ?? known.at(-1));
    [chosen, stopped] = [null, false];
    return render();
  }

  // Take back an event, or a value known in advance, which is then asked for as any other.
  function takeBack(one) {
    if (!one) return;
    const isEvent = events.includes(one), from = isEvent ? events : known;
    events.slice(isEvent ? events.indexOf(one) : 0).forEach((after) => delete after.belief);
    from.splice(from.indexOf(one), 1);
    [chosen, stopped] = [null, false];
    render();
  }

  function stop() {
    [chosen, stopped] = [null, true];
    render();
  }

  byId("question-form").addEventListener("submit", (event) => {
    event.preventDefault();
    give();
  });
  byId("accept").addEventListener("click", () => {
    refused.accept();
    give();
  });
  byId("unknown").addEventListener("click", () => say({ kind: "unknown", j: asked(), values: [], remark: "" }));
  byId("later").addEventListener("click", later);
  byId("undo").addEventListener("click", undo);
  byId("stop").addEventListener("click", stop);
  byId("restart").addEventListener("click", () => {
    const isUnfinished = !byId("question").hidden && (known.length || events.length);
    if (!isUnfinished || window.confirm(said("leave_case"))) showStart();
  });
  byId("print").addEventListener("click", () => window.print());
  window.addEventListener("beforeunload", (event) => {
    if (known.length || events.length || byId("note").value) event.preventDefault(); // the case is nowhere else
  });

  const ACTIONS = {
    "?": () => (byId("why").open = !byId("why").open),
    u: undo,
    s: () => !byId("question").hidden && byId("unknown").click(),
    x: () => !byId("question").hidden && stop(),
    l: () => !byId("question").hidden && !byId("later").hidden && later(),
    a: () => (byId("alternatives").open = !byId("alternatives").open),
  };

  // Letters are shortcuts where they cannot be part of a value: outside of fields, and in empty fields of numbers.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !byId("keys").checked || !byId("start").hidden) return;
    const target = event.target, typing = target.matches("input[type=text], textarea");
    if (typing && (target.value !== "" || target.dataset.kind !== "number")) return;
    const place = "123456789".indexOf(event.key);
    if (place >= 0 && !typing && fields.length === 1 && fields[0].pick && fields[0].pick(place)) event.preventDefault();
    else if (Object.hasOwn(ACTIONS, event.key)) {
      event.preventDefault();
      ACTIONS[event.key]();
    }
  });

  // Mark the box of the chart at which the case is.
  function markPlace(one, j) {
    const boxes = [...document.querySelectorAll("#chart .box")];
    const places = boxes.map(({ dataset: { known = "[]", unavailable = "[]", question = '""' } }) =>
      [known, unavailable, question].map((text) => JSON.parse(text)));
    const best = one === null || j === null ? null : boxes[one.placeAmong(places, j)] ?? null;
    for (const box of boxes) {
      box.classList.toggle("here", box === best);
      if (box === best) box.setAttribute("aria-current", "step");
      else box.removeAttribute("aria-current");
    }
    if (boxes.length) byId("chart-place").hidden = best === null;
    showPlace();
  }

  // The marked box is in sight in the frame of the chart, which is scrolled sideways where the chart is wide.
  function showPlace() {
    const box = document.querySelector("#chart details[open] .box.here"), frame = box?.closest("figure");
    if (box) frame.scrollLeft += box.getBoundingClientRect().left - frame.getBoundingClientRect().left - frame.clientWidth / 8;
  }

  document.getElementById("chart")?.addEventListener("toggle", showPlace, true); // also of a chart in another fold

  // A record on paper says when it was printed, the note, why, and what is promised.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    const now = new Date(), two = (x) => String(x).padStart(2, "0");
    const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("-");
    show("printed", said("model_printed", { title: document.title, time: `${day} ${two(now.getHours())}:${two(now.getMinutes())}` }));
    const note = byId("note").value.trim();
    show("noted", note && said("note_printed", { note }));
    folded = [byId("why"), byId("promised")].filter((details) => !details.open);
    folded.forEach((details) => (details.open = true));
  });
  window.addEventListener("afterprint", () => {
    show("printed", "");
    show("noted", "");
    folded.forEach((details) => (details.open = false));
  });

  if (policy.rule !== null) byId("promised").append(...policy.rule.sentences.map((text) => element("p", {}, String(text))));
  showStart();
})();
